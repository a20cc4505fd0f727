"""As `bad`, for the fields of the cluster: schedule, images, driver, executors, pod templates."""

from typing import Final

from documents.bad import Bad


CLUSTER: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: nightly}
spec:
  parameters: [{name: release, value: "1"}]
  sources:
    - name: weather
      files: {path: s3a://lake/weather, format: json, schema: "origin STRING, temp DOUBLE"}
  queries:
    - name: weather
      from: weather
      to: [{name: table, delta: {path: s3a://lake/table}}]
      trigger: {availableNow: true}
  checkpoints: {location: s3a://checkpoints/nightly}
  schedule: {cron: "0 3 * * *", timeZone: Europe/Zurich}
  image: registry.example/mainstem:${release}
  imagePullPolicy: IfNotPresent
  imagePullSecrets: [{name: pull}]
  spark: {conf: {spark.locality.wait: "0"}}
  driver:
    cores: 2
    resources:
      requests: {cpu: 500m, memory: 1536Mi}
      limits: {cpu: 2, memory: 2Gi}
    heap: 1g
    serviceAccountName: lake
    template:
      metadata:
        labels: {team: data}
      spec:
        priorityClassName: high
        volumes:
          - {name: certificates, secret: {secretName: certificates}}
        initContainers:
          - {name: unpack, image: "registry.example/unpack:2"}
        containers:
          - name: driver
            env: [{name: PLACE, value: here}]
            volumeMounts: [{name: certificates, mountPath: /certificates}]
          - {name: proxy, image: "registry.example/proxy:2"}
  executors:
    instances: 2
    resources: {limits: {memory: 2Gi}}
    template:
      spec:
        nodeSelector: {disk: ssd}
        containers:
          - name: executor
            env: [{name: PLACE, value: there}]
    dynamicAllocation: {minExecutors: 1, maxExecutors: 4}
"""

BAD_CLUSTER: Final = [
    Bad(
        "scheduled query without an end",
        (("      trigger: {availableNow: true}\n", ""),),
        (
            "10:7: spec.queries[0].trigger: the query 'weather' never ends, and a schedule needs queries that end; give it trigger: {availableNow: true}, or leave spec.schedule out [ScheduleUnbounded]",
        ),
        CLUSTER,
    ),
    Bad(
        "scheduled query by interval",
        (("{availableNow: true}", "{processingTime: 1 minute}"),),
        (
            "13:16: spec.queries[0].trigger: the query 'weather' never ends, and a schedule needs queries that end; give it trigger: {availableNow: true}, or leave spec.schedule out [ScheduleUnbounded]",
        ),
        CLUSTER,
    ),
    Bad(
        "scheduled pipeline by interval",
        (("      trigger: {availableNow: true}\n", "  trigger: {processingTime: 1 minute}\n"),),
        (
            "13:12: spec.trigger: a schedule needs queries that end, and this trigger does not end; use trigger: {availableNow: true} [ScheduleUnbounded]",
        ),
        CLUSTER,
    ),
    Bad(
        "cron of four fields",
        (('"0 3 * * *"', '"0 3 * *"'),),
        (
            "15:20: spec.schedule.cron: '0 3 * *' is not a cron expression of five fields (minute, hour, day of month, month, day of week) such as '0 3 * * *' [InvalidCron]",
        ),
        CLUSTER,
    ),
    Bad(
        "cron by a word",
        (('"0 3 * * *"', '"@daily"'),),
        (
            "15:20: spec.schedule.cron: '@daily' is not a cron expression of five fields (minute, hour, day of month, month, day of week) such as '0 3 * * *' [InvalidCron]",
        ),
        CLUSTER,
    ),
    Bad(
        "cron with seconds",
        (('"0 3 * * *"', '"0 0 3 * * *"'),),
        (
            "15:20: spec.schedule.cron: '0 0 3 * * *' is not a cron expression of five fields (minute, hour, day of month, month, day of week) such as '0 3 * * *' [InvalidCron]",
        ),
        CLUSTER,
    ),
    Bad(
        "cron out of range",
        (('"0 3 * * *"', '"0 24 * * *"'),),
        (
            "15:20: spec.schedule.cron: '0 24 * * *' never matches a time: there is no such hour; '0 3 * * *' is three o'clock each night [InvalidCron]",
        ),
        CLUSTER,
    ),
    Bad(
        "cron that never comes",
        (('"0 3 * * *"', '"0 3 30 2 *"'),),
        (
            "15:20: spec.schedule.cron: '0 3 30 2 *' never matches a time: there is no such day of month; '0 3 * * *' is three o'clock each night [InvalidCron]",
        ),
        CLUSTER,
    ),
    Bad(
        "cron as a number",
        (('"0 3 * * *"', "3"),),
        (
            "15:20: spec.schedule.cron: 3 is not a cron expression of five fields (minute, hour, day of month, month, day of week) such as '0 3 * * *' [InvalidType]",
        ),
        CLUSTER,
    ),
    Bad(
        "zone of a schedule",
        (("Europe/Zurich", "Europe/Zurick"),),
        (
            "15:43: spec.schedule.timeZone: 'Europe/Zurick' is no such time zone, use a name like UTC or Europe/Zurich; did you mean 'Europe/Zurich'? [UnknownTimeZone]",
        ),
        CLUSTER,
    ),
    Bad(
        "schedule without cron",
        (('cron: "0 3 * * *", ', ""),),
        ("15:13: spec.schedule.cron: the field 'cron' is required [MissingField]",),
        CLUSTER,
    ),
    Bad(
        "parameter in a schedule",
        (('"0 3 * * *"', '"0 ${release} * * *"'),),
        (
            "15:20: spec.schedule.cron: '0 ${release} * * *' never matches a time: there is no such hour; this field cannot contain parameters [InvalidCron]",
        ),
        CLUSTER,
    ),
    Bad(
        "suspend by a word",
        (("  imagePullPolicy:", '  suspend: "yes"\n  imagePullPolicy:'),),
        ("17:12: spec.suspend: 'yes' is not true or false; write true [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "pull policy",
        (("IfNotPresent", "ifNotPresent"),),
        (
            "17:20: spec.imagePullPolicy: 'ifNotPresent' is not one of Always, IfNotPresent, Never; did you mean 'IfNotPresent'? [InvalidValue]",
        ),
        CLUSTER,
    ),
    Bad(
        "parameter of an image unknown",
        (("${release}", "${relase}"),),
        ("16:36: spec.image: unknown parameter ${relase}; did you mean 'release'? [UnknownParameter]",),
        CLUSTER,
    ),
    Bad(
        "pull secret as a word",
        (("[{name: pull}]", "[pull]"),),
        ("18:22: spec.imagePullSecrets[0]: 'pull' is not a mapping; write {name: pull} [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "pull secrets without a list",
        (("[{name: pull}]", "{name: pull}"),),
        ("18:21: spec.imagePullSecrets: a mapping is not a list [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "pull secret twice",
        (("[{name: pull}]", "[{name: pull}, {name: pull}]"),),
        (
            "18:43: spec.imagePullSecrets[1].name: the name 'pull' is taken by an earlier entry of imagePullSecrets [DuplicateName]",
        ),
        CLUSTER,
    ),
    Bad(
        "pull secret that is no name",
        (("[{name: pull}]", "[{name: Pull_Secret}]"),),
        (
            "18:29: spec.imagePullSecrets[0].name: 'Pull_Secret' is not a name in Kubernetes: lower case letters, digits, hyphens and dots, with a letter or digit at both ends [InvalidName]",
        ),
        CLUSTER,
    ),
    Bad(
        "unknown field of the driver",
        (("    serviceAccountName: lake", "    serviceAccount: lake"),),
        (
            "26:5: spec.driver.serviceAccount: unknown field 'serviceAccount'; did you mean 'serviceAccountName'? [UnknownField]",
        ),
        CLUSTER,
    ),
    Bad(
        "unknown field of the executors",
        (("    instances: 2", "    replicas: 2"),),
        (
            "42:5: spec.executors.replicas: unknown field 'replicas'; known fields are instances, cores, resources, heap, template, dynamicAllocation [UnknownField]",
        ),
        CLUSTER,
    ),
    Bad(
        "field of a container beside resources",
        (("    heap: 1g", "    memory: 1g"),),
        (
            "25:5: spec.driver.memory: unknown field 'memory'; known fields are cores, resources, heap, serviceAccountName, template, podDisruptionBudget [UnknownField]",
        ),
        CLUSTER,
    ),
    Bad(
        "cores in Kubernetes' words",
        (("cores: 2", "cores: 500m"),),
        ("21:12: spec.driver.cores: '500m' is not a whole number [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "instances in quotes",
        (("instances: 2", 'instances: "2"'),),
        ("42:16: spec.executors.instances: '2' is not a whole number; remove the quotes [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "instances negative",
        (("instances: 2", "instances: -1"),),
        ("42:16: spec.executors.instances: -1 is out of range: it must be 0 or more [OutOfRange]",),
        CLUSTER,
    ),
    Bad(
        "instances by a parameter",
        (("instances: 2", 'instances: "${release}"'),),
        (
            "42:16: spec.executors.instances: '${release}' is not a whole number; this field cannot contain parameters [InvalidType]",
        ),
        CLUSTER,
    ),
    Bad(
        "heap in Kubernetes' words",
        (("heap: 1g", "heap: 1Gi"),),
        (
            "25:11: spec.driver.heap: '1Gi' is not a size in the form of Java, such as 512m or 2g [InvalidQuantity]",
        ),
        CLUSTER,
    ),
    Bad(
        "heap as a number",
        (("heap: 1g", "heap: 1"),),
        ("25:11: spec.driver.heap: 1 is not a size in the form of Java, such as 512m or 2g [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "quantity in Java's words",
        (("limits: {cpu: 2, memory: 2Gi}", "limits: {cpu: 2, memory: 2g}"),),
        (
            "24:32: spec.driver.resources.limits.memory: '2g' is not a quantity such as 500m, 2 or 2Gi [InvalidQuantity]",
        ),
        CLUSTER,
    ),
    Bad(
        "quantity with a space",
        (("limits: {cpu: 2, memory: 2Gi}", "limits: {cpu: 2, memory: 2 Gi}"),),
        (
            "24:32: spec.driver.resources.limits.memory: '2 Gi' is not a quantity such as 500m, 2 or 2Gi [InvalidQuantity]",
        ),
        CLUSTER,
    ),
    Bad(
        "quantity negative",
        (("cpu: 500m", "cpu: -1"),),
        (
            "23:23: spec.driver.resources.requests.cpu: '-1' is not a quantity such as 500m, 2 or 2Gi [InvalidQuantity]",
        ),
        CLUSTER,
    ),
    Bad(
        "quantity with a fraction and no quotes",
        (("cpu: 500m", "cpu: 0.5"),),
        (
            "23:23: spec.driver.resources.requests.cpu: 0.5 is not a quantity such as 500m, 2 or 2Gi; put it in quotes [InvalidType]",
        ),
        CLUSTER,
    ),
    Bad(
        "quantity by a parameter",
        (("cpu: 500m", 'cpu: "${release}"'),),
        (
            "23:23: spec.driver.resources.requests.cpu: '${release}' is not a quantity such as 500m, 2 or 2Gi; this field cannot contain parameters [InvalidQuantity]",
        ),
        CLUSTER,
    ),
    Bad(
        "limits as a word",
        (("{limits: {memory: 2Gi}}", "{limits: 2Gi}"),),
        ("43:25: spec.executors.resources.limits: '2Gi' is not a mapping [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "quantity missing",
        (("cpu: 500m", "cpu: null"),),
        (
            "23:23: spec.driver.resources.requests.cpu: null is not a quantity such as 500m, 2 or 2Gi; set a value, or remove the field [InvalidType]",
        ),
        CLUSTER,
    ),
    Bad(
        "resource misspelt",
        (("cpu: 500m", "cpus: 500m"),),
        (
            "23:18: spec.driver.resources.requests.cpus: 'cpus' is not a Kubernetes resource; use cpu, memory, ephemeral-storage, hugepages-<size>, or the resource of a device plugin with its domain, such as example.com/gpu [UnknownResource]",
        ),
        CLUSTER,
    ),
    Bad(
        "resource of a device without a domain",
        (("cpu: 500m", "gpu: 1"),),
        (
            "23:18: spec.driver.resources.requests.gpu: 'gpu' is not a Kubernetes resource; use cpu, memory, ephemeral-storage, hugepages-<size>, or the resource of a device plugin with its domain, such as example.com/gpu [UnknownResource]",
        ),
        CLUSTER,
    ),
    Bad(
        "request above its limit",
        (("cpu: 500m", "cpu: 2500m"),),
        (
            "23:23: spec.driver.resources.requests.cpu: 2500m is above limits.cpu, 2; lower the request or raise the limit [RequestAboveLimit]",
        ),
        CLUSTER,
    ),
    Bad(
        "memory requested above its limit",
        (("memory: 1536Mi", "memory: 3Gi"),),
        (
            "23:37: spec.driver.resources.requests.memory: 3Gi is above limits.memory, 2Gi; lower the request or raise the limit [RequestAboveLimit]",
        ),
        CLUSTER,
    ),
    Bad(
        "requests without limits",
        (("      limits: {cpu: 2, memory: 2Gi}\n", ""),),
        (
            "23:7: spec.driver.resources.limits: memory is missing; Mainstem derives the Java heap from it, and without a limit the pod can take all memory of its node; set it, for example memory: 2Gi [MemoryUnlimited]",
        ),
        CLUSTER,
    ),
    Bad(
        "limits without memory",
        (("{limits: {memory: 2Gi}}", "{limits: {cpu: 2}}"),),
        (
            "43:25: spec.executors.resources.limits: memory is missing; Mainstem derives the Java heap from it, and without a limit the pod can take all memory of its node; set it, for example memory: 2Gi [MemoryUnlimited]",
        ),
        CLUSTER,
    ),
    Bad(
        "too little memory",
        (("{limits: {memory: 2Gi}}", "{limits: {memory: 512Mi}}"),),
        (
            "43:34: spec.executors.resources.limits.memory: 512Mi is too little for Spark; set at least 1Gi [MemoryTooSmall]",
        ),
        CLUSTER,
    ),
    Bad(
        "memory in thousandths",
        (("{limits: {memory: 2Gi}}", "{limits: {memory: 2048m}}"),),
        (
            "43:34: spec.executors.resources.limits.memory: 2048m is in thousandths of a byte; write Mi for mebibytes; Spark needs at least 1Gi [MemoryTooSmall]",
        ),
        CLUSTER,
    ),
    Bad(
        "memory in bytes, too few",
        (("{limits: {memory: 2Gi}}", "{limits: {memory: 1000000000}}"),),
        (
            "43:34: spec.executors.resources.limits.memory: 1000000000 is too little for Spark; set at least 1Gi [MemoryTooSmall]",
        ),
        CLUSTER,
    ),
    Bad(
        "a heap too small for Spark",
        (("heap: 1g", "heap: 64m"),),
        ("25:11: spec.driver.heap: a heap of 64m is too small for Spark; set at least 512m [HeapTooSmall]",),
        CLUSTER,
    ),
    Bad(
        "heap as large as the container",
        (("heap: 1g", "heap: 2g"),),
        (
            "25:11: spec.driver.heap: a heap of 2g leaves less than 384Mi of limits.memory, 2Gi, for memory outside the heap; set at most 1664m, or raise the limit [HeapTooLarge]",
        ),
        CLUSTER,
    ),
    Bad(
        "least above most",
        (("minExecutors: 1", "minExecutors: 5"),),
        (
            "50:39: spec.executors.dynamicAllocation.minExecutors: 5 is above maxExecutors, 4; lower it or raise maxExecutors [ExecutorBounds]",
        ),
        CLUSTER,
    ),
    Bad(
        "instances above most",
        (("instances: 2", "instances: 5"),),
        (
            "42:16: spec.executors.instances: 5 is above dynamicAllocation.maxExecutors, 4; lower it or raise maxExecutors [ExecutorBounds]",
        ),
        CLUSTER,
    ),
    Bad(
        "both above most",
        (
            ("instances: 2", "instances: 5"),
            ("minExecutors: 1", "minExecutors: 5"),
        ),
        (
            "42:16: spec.executors.instances: 5 is above dynamicAllocation.maxExecutors, 4; lower it or raise maxExecutors [ExecutorBounds]",
            "50:39: spec.executors.dynamicAllocation.minExecutors: 5 is above maxExecutors, 4; lower it or raise maxExecutors [ExecutorBounds]",
        ),
        CLUSTER,
    ),
    Bad(
        "most missing",
        (("minExecutors: 1, maxExecutors: 4", "minExecutors: 1"),),
        (
            "50:24: spec.executors.dynamicAllocation.maxExecutors: the field 'maxExecutors' is required [MissingField]",
        ),
        CLUSTER,
    ),
    Bad(
        "Spark's name for it",
        (("maxExecutors: 4", "maxExecutor: 4"),),
        (
            "50:24: spec.executors.dynamicAllocation.maxExecutors: the field 'maxExecutors' is required [MissingField]",
            "50:42: spec.executors.dynamicAllocation.maxExecutor: unknown field 'maxExecutor'; did you mean 'maxExecutors'? [UnknownField]",
        ),
        CLUSTER,
    ),
    Bad(
        "template as a word",
        (
            (
                "    template:\n      spec:\n        nodeSelector: {disk: ssd}\n        containers:\n          - name: executor\n            env: [{name: PLACE, value: there}]\n",
                "    template: small\n",
            ),
        ),
        ("44:15: spec.executors.template: 'small' is not a mapping [InvalidType]",),
        CLUSTER,
    ),
    Bad(
        "fields of a pod at the top of a template",
        (
            (
                "      spec:\n        nodeSelector: {disk: ssd}\n",
                "      nodeSelector: {disk: ssd}\n      spec:\n",
            ),
        ),
        (
            "45:7: spec.executors.template.nodeSelector: 'nodeSelector' is not a field of a pod template; use metadata or spec [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "spec of a template misspelt",
        (("      spec:\n        nodeSelector", "      specs:\n        nodeSelector"),),
        (
            "45:7: spec.executors.template.specs: 'specs' is not a field of a pod template; did you mean 'spec'? [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "spec of a template empty",
        (
            (
                "      spec:\n        nodeSelector: {disk: ssd}\n        containers:\n          - name: executor\n            env: [{name: PLACE, value: there}]\n",
                "      spec:\n",
            ),
        ),
        ("45:12: spec.executors.template.spec: null is not a mapping [InvalidPodTemplate]",),
        CLUSTER,
    ),
    Bad(
        "labels as a list",
        (("{team: data}", "[team]"),),
        ("29:17: spec.driver.template.metadata.labels: a list is not a mapping [InvalidPodTemplate]",),
        CLUSTER,
    ),
    Bad(
        "labels that YAML reads as no strings",
        (("{team: data}", "{team: y, other: 1_000}"),),
        (
            "29:24: spec.driver.template.metadata.labels.team: y, which YAML reads as true, is not a string; put it in quotes [InvalidPodTemplate]",
            "29:34: spec.driver.template.metadata.labels.other: 1_000, which YAML reads as 1000, is not a string; put it in quotes [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "label that is no string",
        (("{team: data}", "{team: true}"),),
        (
            "29:24: spec.driver.template.metadata.labels.team: true is not a string; put it in quotes [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "label of Mainstem's",
        (("{team: data}", "{mainstem.dev/pipeline: other}"),),
        (
            "29:18: spec.driver.template.metadata.labels[mainstem.dev/pipeline]: names that start with mainstem.dev/ are reserved for Mainstem and Spark; remove it [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "label of Spark's",
        (("{team: data}", "{spark-role: driver}"),),
        (
            "29:18: spec.driver.template.metadata.labels[spark-role]: names that start with spark- are reserved for Mainstem and Spark; remove it [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "label of Kubernetes that Mainstem sets",
        (("{team: data}", "{app.kubernetes.io/name: data}"),),
        (
            "29:18: spec.driver.template.metadata.labels[app.kubernetes.io/name]: app.kubernetes.io/name is set by Mainstem and cannot be changed [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "name of the pod",
        (("        labels: {team: data}", "        name: lake"),),
        (
            "29:9: spec.driver.template.metadata.name: name is set by Mainstem; a template can set labels and annotations [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "containers as a mapping",
        (
            (
                "        containers:\n          - name: executor\n            env: [{name: PLACE, value: there}]\n",
                "        containers: {executor: {}}\n",
            ),
        ),
        ("47:21: spec.executors.template.spec.containers: a mapping is not a list [InvalidPodTemplate]",),
        CLUSTER,
    ),
    Bad(
        "container without a name",
        (("- {name: proxy, image:", "- {image:"),),
        (
            "40:13: spec.driver.template.spec.containers[1]: the name is missing; give the entry a name, which is a string [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "containers of one name",
        (("name: proxy", "name: driver"),),
        (
            "40:20: spec.driver.template.spec.containers[1].name: another entry has the name 'driver'; choose another name [InvalidPodTemplate]",
            "40:28: spec.driver.template.spec.containers[1].image: image is set by Mainstem; use spec.image [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "container called as an init container",
        (("name: proxy", "name: unpack"),),
        (
            "35:20: spec.driver.template.spec.initContainers[0].name: another entry has the name 'unpack'; choose another name [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "init container called as Mainstem's",
        (("name: unpack", "name: driver"),),
        (
            "35:20: spec.driver.template.spec.initContainers[0].name: another entry has the name 'driver'; choose another name [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "volume without a name",
        (("- {name: certificates, secret:", "- {secret:"),),
        (
            "33:13: spec.driver.template.spec.volumes[0]: the name is missing; give the entry a name, which is a string [InvalidPodTemplate]",
        ),
        CLUSTER,
    ),
    Bad(
        "volume of Mainstem's",
        (("{name: certificates, secret:", "{name: mainstem-tmp, secret:"),),
        (
            "33:20: spec.driver.template.spec.volumes[0].name: names of volumes that start with mainstem- are reserved for Mainstem; choose another name [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "restart policy of the pod",
        (("priorityClassName: high", "restartPolicy: Always"),),
        (
            "31:9: spec.driver.template.spec.restartPolicy: restartPolicy is set by Mainstem and cannot be changed [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "service account of the pod",
        (("priorityClassName: high", "serviceAccountName: lake"),),
        (
            "31:9: spec.driver.template.spec.serviceAccountName: serviceAccountName is set by Mainstem; use spec.driver.serviceAccountName [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "grace period of the pod",
        (("priorityClassName: high", "terminationGracePeriodSeconds: 5"),),
        (
            "31:9: spec.driver.template.spec.terminationGracePeriodSeconds: terminationGracePeriodSeconds is set by Mainstem; use spec.drain.timeout [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "network of the host",
        (("priorityClassName: high", "hostNetwork: true"),),
        (
            "31:9: spec.driver.template.spec.hostNetwork: hostNetwork is set by Mainstem and cannot be changed [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "node by name",
        (("nodeSelector: {disk: ssd}", "nodeName: node-1"),),
        (
            "46:9: spec.executors.template.spec.nodeName: nodeName is set by Mainstem; use nodeSelector or affinity [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "image of Mainstem's container",
        (("env: [{name: PLACE, value: there}]", "image: registry.example/other:1"),),
        (
            "49:13: spec.executors.template.spec.containers[0].image: image is set by Mainstem; use spec.image [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "resources of Mainstem's container",
        (("env: [{name: PLACE, value: there}]", "resources: {}"),),
        (
            "49:13: spec.executors.template.spec.containers[0].resources: resources is set by Mainstem; use the field resources beside template [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "probe of Mainstem's container",
        (("env: [{name: PLACE, value: here}]", "livenessProbe: {}"),),
        (
            "38:13: spec.driver.template.spec.containers[0].livenessProbe: livenessProbe is set by Mainstem and cannot be changed [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "variable of Mainstem's",
        (("{name: PLACE, value: here}", '{name: MAINSTEM_ATTEMPT, value: "1"}'),),
        (
            "38:26: spec.driver.template.spec.containers[0].env[0].name: the variable MAINSTEM_ATTEMPT is reserved for Mainstem and Spark; choose another name [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "variable of Spark's",
        (("{name: PLACE, value: there}", "{name: SPARK_LOCAL_DIRS, value: /x}"),),
        (
            "49:26: spec.executors.template.spec.containers[0].env[0].name: the variable SPARK_LOCAL_DIRS is reserved for Mainstem and Spark; choose another name [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "variable that Mainstem sets",
        (("{name: PLACE, value: here}", "{name: HOME, value: /x}"),),
        (
            "38:26: spec.driver.template.spec.containers[0].env[0].name: the variable HOME is reserved for Mainstem and Spark; choose another name [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "mount over Mainstem's",
        (("mountPath: /certificates", "mountPath: /tmp/"),),
        (
            "39:60: spec.driver.template.spec.containers[0].volumeMounts[0].mountPath: Mainstem mounts a volume of its own at /tmp/; mount yours elsewhere [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "mount within Mainstem's",
        (("mountPath: /certificates", "mountPath: /etc/mainstem/secrets/mine"),),
        (
            "39:60: spec.driver.template.spec.containers[0].volumeMounts[0].mountPath: Mainstem mounts a volume of its own at /etc/mainstem/secrets/mine; mount yours elsewhere [OwnedPodField]",
        ),
        CLUSTER,
    ),
    Bad(
        "executors as Spark properties",
        (('spark.locality.wait: "0"', 'spark.executor.instances: "2"'),),
        (
            "19:18: spec.spark.conf[spark.executor.instances]: spark.executor.instances is set by Mainstem; use executors.instances [OwnedConf]",
        ),
        CLUSTER,
    ),
    Bad(
        "executors' environment as Spark properties",
        (('spark.locality.wait: "0"', "spark.executorEnv.PLACE: here"),),
        (
            "19:18: spec.spark.conf[spark.executorEnv.PLACE]: spark.executorEnv.PLACE is set by Mainstem; use env of the container executor in spec.executors.template [OwnedConf]",
        ),
        CLUSTER,
    ),
    Bad(
        "Kubernetes as Spark properties",
        (('spark.locality.wait: "0"', "spark.kubernetes.namespace: other"),),
        (
            "19:18: spec.spark.conf[spark.kubernetes.namespace]: spark.kubernetes.namespace is set by Mainstem; use spec.driver and spec.executors [OwnedConf]",
        ),
        CLUSTER,
    ),
    Bad(
        "dynamic allocation as Spark properties",
        (('spark.locality.wait: "0"', 'spark.dynamicAllocation.enabled: "true"'),),
        (
            "19:18: spec.spark.conf[spark.dynamicAllocation.enabled]: spark.dynamicAllocation.enabled is set by Mainstem; use executors.dynamicAllocation [OwnedConf]",
        ),
        CLUSTER,
    ),
    Bad(
        "port of the driver",
        (('spark.locality.wait: "0"', 'spark.driver.port: "7078"'),),
        (
            "19:18: spec.spark.conf[spark.driver.port]: spark.driver.port is set by Mainstem and cannot be changed [OwnedConf]",
        ),
        CLUSTER,
    ),
    Bad(
        "memory beside the heap that the driver has not",
        (
            (
                'spark.locality.wait: "0"',
                'spark.memory.offHeap.enabled: "true", spark.memory.offHeap.size: 1g',
            ),
            ("instances: 2", "instances: 0"),
            ("    dynamicAllocation: {minExecutors: 1, maxExecutors: 4}\n", ""),
        ),
        (
            "19:83: spec.spark.conf[spark.memory.offHeap.size]: 1024m, a heap of 1024m and 384Mi for other memory are above driver.resources.limits.memory, 2Gi; set at most 640m, raise the limit or lower driver.heap [OffHeapTooLarge]",
        ),
        CLUSTER,
    ),
    Bad(
        "memory beside the heap that an executor has not",
        (
            (
                'spark.locality.wait: "0"',
                'spark.memory.offHeap.enabled: "true", spark.memory.offHeap.size: "536870912"',
            ),
        ),
        (
            "19:83: spec.spark.conf[spark.memory.offHeap.size]: 512m, a heap of 1228m and 384Mi for other memory are above executors.resources.limits.memory, 2Gi; set at most 435m, raise the limit or lower executors.heap [OffHeapTooLarge]",
        ),
        CLUSTER,
    ),
    Bad(
        "memory beside the heap that is no size",
        (
            (
                'spark.locality.wait: "0"',
                'spark.memory.offHeap.enabled: "true", spark.memory.offHeap.size: much',
            ),
        ),
        (
            "19:83: spec.spark.conf[spark.memory.offHeap.size]: 'much' is not a size of Spark; write for example 512m or 2g [InvalidConf]",
        ),
        CLUSTER,
    ),
]
