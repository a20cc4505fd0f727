local os = require("os")
obj.spec.restartNonce = os.date("!%Y-%m-%dT%XZ")
return obj
