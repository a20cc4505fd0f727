"""Reasons of problems in the fields that matter on a cluster: resources, pod templates, the schedule."""

from typing import Final

from mainstem.reasons.reason import document_problem


UNKNOWN_RESOURCE: Final = document_problem(
    "UnknownResource",
    "Kubernetes has no such resource.",
    "Use `cpu`, `memory` or `ephemeral-storage`; the resource of a device has a domain: `example.com/gpu`.",
)
REQUEST_ABOVE_LIMIT: Final = document_problem(
    "RequestAboveLimit",
    "The container requests more of a resource than its limit.",
    "Lower `requests`, or raise `limits`.",
)
MEMORY_UNLIMITED: Final = document_problem(
    "MemoryUnlimited",
    "`resources` has no `limits.memory`. What you write replaces the default as a whole.",
    "Add `limits: {memory: 2Gi}`.",
)
MEMORY_TOO_SMALL: Final = document_problem(
    "MemoryTooSmall",
    "`limits.memory` is below 1Gi. `2048m` are two bytes.",
    "Write at least 1Gi, and more for queries with state. Use `Mi`, not `m`.",
)
HEAP_TOO_SMALL: Final = document_problem(
    "HeapTooSmall",
    "The heap is below 450 MiB, with which Spark does not start.",
    "Set `heap: 512m`, and more for queries with state.",
)
HEAP_TOO_LARGE: Final = document_problem(
    "HeapTooLarge",
    "The heap leaves less than 384Mi of `limits.memory` for Python, RocksDB and Java's own memory. "
    "Kubernetes would kill the container.",
    "Leave `heap` out, or raise the limit.",
)
OFF_HEAP_TOO_LARGE: Final = document_problem(
    "OffHeapTooLarge",
    "Heap, `spark.memory.offHeap.size` and 384Mi are together larger than `limits.memory` of the pods "
    "that run tasks. Kubernetes would kill the container.",
    "Lower the size or the heap, or raise the limit.",
)
EXECUTOR_BOUNDS: Final = document_problem(
    "ExecutorBounds",
    "`instances` or `minExecutors` is greater than `maxExecutors`.",
    "Lower it, or raise `maxExecutors`.",
)
INVALID_POD_TEMPLATE: Final = document_problem(
    "InvalidPodTemplate",
    "A pod template has more than `metadata` and `spec`, or a label that is not a string. Or an entry has"
    " no name, or a name that is taken.",
    "Put the fields of a Pod's `spec` under `template.spec`; give each entry a name of its own.",
)
OWNED_POD_FIELD: Final = document_problem(
    "OwnedPodField",
    "A pod template sets a field that Mainstem sets: see the [rules](reference.md#rules).",
    "Use the field of the document that the message names, or leave it out.",
)
