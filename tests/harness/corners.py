"""Values at the corners of Spark's types, and whether another type has them."""

from pyspark.sql import Column
from pyspark.sql import functions as F


CORNERS: dict[str, tuple[str, ...]] = {
    "TINYINT": ("-128", "1", "2"),
    "SMALLINT": ("32767", "2047"),
    "INT": ("2147483647", "-2147483648", "16777217"),
    "BIGINT": ("9223372036854775807", "-9223372036854775808", "9007199254740993"),
    "FLOAT": ("0.1", "1e-30", "1.5", "3.4028235e38", "'NaN'", "16777216"),
    "DOUBLE": ("0.1", "1e-30", "2.7", "1e300", "'NaN'", "'-Infinity'", "9007199254740992"),
    "DECIMAL(6,0)": ("999999", "-1"),
    "DECIMAL(8,4)": ("1.2345", "9999.9999"),
    "DECIMAL(38,18)": ("1.000000000000000001", "12345678901234567890"),
    "BOOLEAN": ("true", "false"),
    "STRING": ("''", "' 1'", "'1.50'", "'2024-01-02T23:59:59Z'", "'yes'", "'é'", "'a'"),
    "BINARY": ("X''", "X'FF'", "X'61'"),
    "DATE": ("'0001-01-01'", "'1582-10-04'", "'1582-10-15'", "'2024-10-27'", "'9999-12-31'"),
    "TIMESTAMP": (
        "'1582-10-04T23:59:59.999999Z'", "'1582-10-15T00:00:00Z'", "'1900-01-01T00:00:00Z'",
        "'2024-10-27T00:30:00.000001Z'", "'2024-10-27T01:30:00Z'", "'0001-01-02T00:00:00Z'"),
    "TIMESTAMP_NTZ": (
        "'0001-01-02 00:00:00'", "'1582-10-04 23:59:59.999999'", "'1582-10-15 00:00:00'",
        "'2024-10-27 02:30:00.000001'", "'2024-03-31 02:30:00'", "'9999-12-30 23:59:59'"),
}  # fmt: skip
"""Values of each type, as SQL."""


def came_back(column: str, kind: str, stored: str) -> Column:
    """The value if it is the same when it was converted to the other type and back; else null."""
    value = F.col(column)
    fitted = value.try_cast(stored)
    is_same = fitted.try_cast(kind).eqNullSafe(value)
    if kind == "BIGINT" and stored.lower() in ("float", "double"):
        is_same &= fitted < 2.0**63  # of which Spark makes the greatest BIGINT, which is less
    return F.when(is_same, value)
