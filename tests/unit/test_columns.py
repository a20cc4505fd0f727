"""Delta's own words on columns that do not fit."""

from mainstem.runtime.failures.columns import difference


SEEN = """[DELTA_METADATA_MISMATCH] A metadata mismatch was detected when writing to the Delta table.
- A schema mismatch detected when writing to the Delta table (Table ID: e9a50d8d-6029-47d4-9ccd-35bde96f9dba).

Table schema:
root
 |-- id: long (nullable = true)
 |-- at: struct (nullable = true)
 |    |-- extra: double (nullable = true)
 |-- gone: string (nullable = true)


Data schema:
root
 |-- id: decimal(10,2) (nullable = true)
 |-- at: struct (nullable = true)
 |    |-- extra: integer (nullable = true)
 |-- odd name: string (nullable = true)

 SQLSTATE: XXKST
=== Streaming Query ==="""


def test_new_changed_and_missing_columns_are_named() -> None:
    assert difference(SEEN) == (
        "id is long in the table and decimal(10,2) in the query; the table has no odd name; the query has no gone"
    )


def test_other_messages_give_no_difference() -> None:
    assert difference("[DELTA_METADATA_MISMATCH] partition columns differ") is None
    assert difference(SEEN.replace("Data schema", "Other schema")) is None
