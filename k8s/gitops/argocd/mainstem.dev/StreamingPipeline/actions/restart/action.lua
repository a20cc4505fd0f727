local os = require("os")
obj.metadata.annotations = obj.metadata.annotations or {}
obj.metadata.annotations["mainstem.dev/restartedAt"] = os.date("!%Y-%m-%dT%XZ")
return obj
