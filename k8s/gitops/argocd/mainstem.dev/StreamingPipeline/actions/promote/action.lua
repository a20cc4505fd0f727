obj.spec.trial.promote = obj.status.trial.revision
return obj
