local suspended = obj.spec.suspend == true
local trial = (obj.status or {}).trial or {}
local waits = {Pending = true, Running = true, Passed = true, Differs = true, Failed = true}
local on_trial = obj.spec.trial ~= nil and waits[trial.phase] == true
return {
  suspend = {disabled = suspended, iconClass = "fa fa-fw fa-pause", displayName = "Suspend: drain the driver"},
  resume = {disabled = not suspended, iconClass = "fa fa-fw fa-play", displayName = "Resume from the checkpoints"},
  restart = {disabled = suspended, iconClass = "fa fa-fw fa-sync", displayName = "Restart: drain, then start"},
  promote = {disabled = not on_trial, iconClass = "fa fa-fw fa-check", displayName = "Promote: apply the document on trial"}
}
