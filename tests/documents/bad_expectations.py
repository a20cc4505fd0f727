"""As `bad`, for expectations on views, and what is put aside."""

from typing import Final

from documents.bad import Bad


EXPECTING: Final = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: orders}
spec:
  sources:
    - {name: lines, files: {path: /in}}
  views:
    - name: sound
      sql: SELECT value FROM lines
      expectations:
        - {name: filled, expect: "value <> ''", onViolation: quarantine}
        - {name: short, expect: length(value) < 80}
  queries:
    - {name: orders, from: sound, to: [{name: table, delta: {path: /lake/orders}}]}
    - {name: aside, from: sound_quarantine, to: [{name: table, delta: {path: /lake/aside}}]}
  checkpoints: {location: /ckpt/orders}
"""

BAD_EXPECTATIONS: Final = [
    Bad(
        "expectation that asks other rows",
        (("length(value) < 80", "value IN (SELECT value FROM lines)"),),
        (
            "12:33: spec.views[0].expectations[1].expect: an expectation must not contain a subquery; it is a predicate over the columns of one row; write a join in a view [NotAPredicate]",
        ),
        EXPECTING,
    ),
    Bad(
        "expectation that aggregates",
        (("length(value) < 80", "max(length(value)) < 80"),),
        (
            "12:33: spec.views[0].expectations[1].expect: an expectation must not contain an aggregate; it is a predicate over the columns of one row; compute it in a view [NotAPredicate]",
        ),
        EXPECTING,
    ),
    Bad(
        "expectation that calls into the driver",
        (("length(value) < 80", "\"reflect('java.lang.System', 'exit', 1) = ''\""),),
        (
            "12:34: spec.views[0].expectations[1].expect: the function reflect is not allowed, because it calls code in the driver's JVM; remove it [ForbiddenFunction]",
        ),
        EXPECTING,
    ),
    Bad(
        "expectation of a taken name",
        (("name: short", "name: filled"),),
        (
            "12:18: spec.views[0].expectations[1].name: the name 'filled' is taken by an earlier entry of expectations [DuplicateName]",
        ),
        EXPECTING,
    ),
    Bad(
        "quarantine that nobody reads",
        (("from: sound_quarantine", "from: lines"),),
        (
            "11:62: spec.views[0].expectations[0].onViolation: no query reads 'sound_quarantine', so its rows would be lost; add a query that reads it, or use onViolation: drop [QuarantineUnread]",
        ),
        EXPECTING,
    ),
    Bad(
        "quarantine that two read",
        (("from: sound,", "from: sound_quarantine,"),),
        (
            "11:62: spec.views[0].expectations[0].onViolation: 'sound_quarantine' is read by orders and aside; only one query may read it, so change the others [QuarantineReadTwice]",
        ),
        EXPECTING,
    ),
    Bad(
        "quarantine that is not offered",
        (("onViolation: quarantine", "onViolation: drop"),),
        (
            "15:27: spec.queries[1].from: no relation 'sound_quarantine': the view 'sound' has it only with an expectation that sets onViolation: quarantine [UnknownRelation]",
        ),
        EXPECTING,
    ),
    Bad(
        "quarantine of a taken name",
        (("name: lines,", "name: sound_quarantine,"), ("FROM lines", "FROM sound_quarantine")),
        (
            "8:13: spec.views[0].name: 'sound_quarantine' is the relation of this view's quarantined rows, and another relation has that name; rename one of the two [DuplicateRelation]",
        ),
        EXPECTING,
    ),
    Bad(
        "view that reads its own quarantine",
        (("FROM lines", "FROM sound_quarantine"),),
        ("9:30: spec.views[0].sql: views read each other: sound -> sound_quarantine -> sound [CyclicViews]",),
        EXPECTING,
    ),
]
