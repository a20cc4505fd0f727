-- Health of a StreamingPipeline, from its conditions. Uses only functions that Argo CD allows in scripts of argocd-cm.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function health(name, condition)
  return {status = name, message = condition.reason .. ": " .. condition.message}
end

local function holds(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

if obj.metadata.deletionTimestamp ~= nil then
  return {status = "Progressing", message = "deleted: the driver finishes its running batches"}
end
if conditions["Ready"] == nil or status.observedGeneration ~= obj.metadata.generation then
  return {status = "Progressing", message = "the operator has not read this generation yet"}
end
if holds("Stalled") then
  return health("Degraded", conditions["Stalled"])
end
if status.phase == "BackingOff" then
  return health("Degraded", conditions["Ready"])
end
if holds("DataStalled") then
  return health("Degraded", conditions["DataStalled"])
end
if conditions["Ready"].reason == "TrialPassed" then
  return health("Suspended", conditions["Ready"])
end
if not holds("Ready") then
  return health("Progressing", conditions["Ready"])
end
if holds("Degraded") then
  return health("Degraded", conditions["Degraded"])
end
if status.phase == "Suspended" then
  return health("Suspended", conditions["Ready"])
end
return health("Healthy", conditions["Ready"])
