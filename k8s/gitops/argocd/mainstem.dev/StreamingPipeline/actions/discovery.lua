local suspended = obj.spec.suspend == true
return {
  suspend = {disabled = suspended, iconClass = "fa fa-fw fa-pause", displayName = "Suspend: drain the driver"},
  resume = {disabled = not suspended, iconClass = "fa fa-fw fa-play", displayName = "Resume from the checkpoints"},
  restart = {disabled = suspended, iconClass = "fa fa-fw fa-sync", displayName = "Restart: drain, then start"}
}
