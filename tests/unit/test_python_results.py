"""What Python code returns is converted to its declared type if that loses nothing, and is refused otherwise."""

import datetime as dt
import math
import pickle
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem.dataframes.user_code.misfit import Misfit
from mainstem.dataframes.user_code.restored_values import restorer
from mainstem.dataframes.user_code.results import converter, row_converter
from mainstem.dataframes.user_code.series import aggregate_converter, series_converter
from mainstem.dataframes.user_code.typed import Typed, TypedFunction
from mainstem.errors import NotReady
from pyspark.sql import Row
from pyspark.sql import types as t


UTC = dt.UTC
DAY, AWARE = dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=UTC)
MIDNIGHT = AWARE.replace(tzinfo=None)
NOON = MIDNIGHT.replace(hour=12, microsecond=1)
PAIR = t.StructType([t.StructField("a", t.IntegerType()), t.StructField("b", t.StringType())])


class Pair(NamedTuple):
    a: int
    b: str


class Turned(NamedTuple):
    b: str
    a: int


class Colour(StrEnum):
    RED = "red"


class Mixed(str, Enum):  # noqa: UP042 -- shows itself as Mixed.RED
    RED = "red"


class Unseen:
    def __repr__(self) -> str:
        raise RuntimeError


@dataclass
class Both:
    a: int
    b: str
    more: int = 0


FIT: list[tuple[t.DataType, Any, Any]] = [
    (t.BooleanType(), True, True),
    (t.BooleanType(), np.bool_(False), False),
    (t.ByteType(), -128, -128),
    (t.ShortType(), 32767, 32767),
    (t.IntegerType(), True, 1),
    (t.IntegerType(), 2.0, 2),
    (t.IntegerType(), Decimal("5.00"), 5),
    (t.IntegerType(), np.int8(3), 3),
    (t.IntegerType(), np.float64(4), 4),
    (t.LongType(), -(2**63), -(2**63)),
    (t.LongType(), np.uint64(7), 7),
    (t.FloatType(), 0.1, 0.1),
    (t.FloatType(), 3, 3.0),
    (t.FloatType(), Decimal("0.1"), 0.1),
    (t.FloatType(), Decimal(16777216), 16777216.0),
    (t.DoubleType(), 5, 5.0),
    (t.DoubleType(), 2**60, float(2**60)),
    (t.DoubleType(), Decimal("0.1"), 0.1),
    (t.DoubleType(), np.float32(0.5), 0.5),
    (t.DoubleType(), math.inf, math.inf),
    (t.DecimalType(4, 2), 1, Decimal("1.00")),
    (t.DecimalType(4, 2), Decimal("1.2"), Decimal("1.20")),
    (t.DecimalType(4, 2), Decimal("1.200000"), Decimal("1.20")),
    (t.DecimalType(4, 2), 0.1, Decimal("0.10")),
    (t.DecimalType(38, 0), 10**38 - 1, Decimal(10**38 - 1)),
    (t.StringType(), "", ""),
    (t.StringType(), np.str_("x"), "x"),
    (t.StringType(), 5, "5"),
    (t.StringType(), True, "true"),
    (t.StringType(), Decimal("1E+2"), "100"),
    (t.StringType(), 0.5, "0.5"),
    (t.StringType(), -1e7, "-1.0E7"),
    (t.StringType(), 12345678.9, "1.23456789E7"),
    (t.StringType(), 1e-4, "1.0E-4"),
    (t.StringType(), -math.inf, "-Infinity"),
    (t.StringType(), Colour.RED, "red"),
    (t.StringType(), Mixed.RED, "red"),
    (t.VarcharType(2), "ab", "ab"),
    (t.BinaryType(), bytearray(b"x"), b"x"),
    (t.BinaryType(), "é", "é".encode()),
    (t.DateType(), DAY, DAY),
    (t.DateType(), MIDNIGHT, DAY),
    (t.DateType(), np.datetime64("2026-01-01"), DAY),
    (t.TimestampType(), AWARE, AWARE),
    (t.TimestampType(), NOON, NOON.astimezone(UTC)),
    (t.TimestampType(), pd.Timestamp(AWARE), AWARE),
    (t.TimestampType(), np.datetime64("2026-01-01T12:00:00.000001"), NOON.astimezone(UTC)),
    (t.TimestampNTZType(), NOON, NOON),
    (t.DayTimeIntervalType(), dt.timedelta(1), dt.timedelta(1)),
    (t.DayTimeIntervalType(), pd.Timedelta(days=1), dt.timedelta(1)),
    (t.DayTimeIntervalType(), np.timedelta64(1, "D"), dt.timedelta(1)),
    (t.ArrayType(t.IntegerType()), (1.0, None), [1, None]),
    (t.ArrayType(t.DoubleType()), np.array([1, 2]), [1.0, 2.0]),
    (t.ArrayType(t.LongType()), array("q", [1]), [1]),
    (t.ArrayType(t.LongType()), {1}, [1]),
    (t.ArrayType(t.LongType()), range(2), [0, 1]),
    (t.ArrayType(t.TimestampNTZType()), np.array(["2026-01-01"], dtype="M8[ns]"), [MIDNIGHT]),
    (t.ArrayType(t.LongType()), pd.Series([1]), [1]),
    (t.MapType(t.StringType(), t.DoubleType()), {"a": 1}, {"a": 1.0}),
    (t.MapType(t.StringType(), t.DoubleType()), [("a", 1)], {"a": 1.0}),
    (PAIR, (1, "x"), (1, "x")),
    (PAIR, [1.0, None], (1, None)),
    (PAIR, {"b": "x"}, (None, "x")),
    (PAIR, {}, (None, None)),
    (PAIR, {"a": 1, "b": "x", "more": 2}, (1, "x")),
    (PAIR, pd.Series({"a": 1, "b": "x"}), (1, "x")),
    (PAIR, Row(A=1, B="x"), (1, "x")),
    (PAIR, Row(a=1, b="x"), (1, "x")),
    (PAIR, Row(c=1, d="x"), (1, "x")),
    (PAIR, Pair(1, "x"), (1, "x")),
    (PAIR, Both(1, "x"), (1, "x")),
    (t.YearMonthIntervalType(), "as it is", "as it is"),
]

MISFITS: list[tuple[t.DataType, Any, str]] = [
    (t.BooleanType(), 1, "BOOLEAN, but is 1 (int)"),
    (t.ByteType(), 128, "TINYINT, but is 128 (int): it is out of range"),
    (t.IntegerType(), "5", "INT, but is '5' (str)"),
    (t.IntegerType(), 2.5, "INT, but is 2.5 (float): its digits"),
    (t.IntegerType(), math.nan, "INT, but is nan (float): it is out of range"),
    (t.IntegerType(), math.inf, "INT, but is inf (float): it is out of range"),
    (t.IntegerType(), 2**31, "it is out of range"),
    (t.LongType(), 2**63, "it is out of range"),
    (t.LongType(), Decimal("1E+999999"), "it is out of range"),
    (t.LongType(), Decimal("sNaN"), "it is out of range"),
    (t.FloatType(), 1e300, "it is out of range"),
    (t.FloatType(), 2**24 + 1, "its digits do not fit"),
    (t.FloatType(), Decimal(16777217), "its digits do not fit"),
    (t.FloatType(), Decimal("0.123456789"), "its digits do not fit"),
    (t.DoubleType(), 2**53 + 1, "its digits do not fit"),
    (t.DoubleType(), 10**400, "it is out of range"),
    (t.DoubleType(), Decimal("0.12345678901234567890"), "its digits do not fit"),
    (t.DoubleType(), "1.5", "DOUBLE, but is '1.5' (str)"),
    (t.DecimalType(4, 2), Decimal("1.234"), "DECIMAL(4,2), but is Decimal('1.234') (Decimal): its digits"),
    (t.DecimalType(4, 2), Decimal(100), "it is out of range"),
    (t.DecimalType(4, 2), Decimal("NaN"), "it is out of range"),
    (t.DecimalType(4, 2), math.inf, "it is out of range"),
    (t.StringType(), DAY, "convert it to a str"),
    (t.StringType(), b"x", "convert it to a str"),
    (t.StringType(), ["x"], "convert it to a str"),
    (t.VarcharType(2), "abc", "it has 3 characters"),
    (t.BinaryType(), 5, "BINARY, but is 5 (int)"),
    (t.DateType(), NOON, "it would lose its time"),
    (t.DateType(), "2026-01-01", "DATE, but is '2026-01-01' (str)"),
    (t.TimestampType(), "2024-01-01T00:00:00", "TIMESTAMP, but is '2024-01-01T00:00:00' (str)"),
    (t.TimestampType(), DAY, "TIMESTAMP, but is datetime.date(2026, 1, 1) (date)"),
    (t.TimestampType(), pd.Timestamp(1), "it has nanoseconds"),
    (t.TimestampType(), np.datetime64(1, "ns"), "it has nanoseconds"),
    (t.TimestampNTZType(), AWARE, "it would lose its time zone"),
    (t.DayTimeIntervalType(), 1, "INTERVAL DAY TO SECOND, but is 1 (int)"),
    (t.DayTimeIntervalType(), np.timedelta64(1, "ns"), "it has nanoseconds"),
    (t.ArrayType(t.IntegerType()), "12", "ARRAY<INT>, but is '12' (str)"),
    (t.ArrayType(t.IntegerType()), {1: 2}, "ARRAY<INT>, but is {1: 2} (dict)"),
    (t.ArrayType(t.LongType()), np.array(["2026-01-01"], dtype="M8[ns]"), "[0] is declared as BIGINT, but is datetime"),
    (t.ArrayType(t.IntegerType()), [1, "x"], "[1] is declared as INT, but is 'x' (str)"),
    (t.ArrayType(t.IntegerType(), containsNull=False), [None], "[0] is declared as INT, but is None (NoneType): it cannot be NULL"),
    (t.MapType(t.StringType(), t.IntegerType()), ["ab"], "MAP<STRING, INT>, but is ['ab'] (list)"),
    (t.MapType(t.ArrayType(t.LongType()), t.IntegerType()), {(1,): 1}, "Python has no mapping with such keys"),
    (t.MapType(t.StructType([t.StructField("a", t.ArrayType(t.LongType()))]), t.LongType()), {((1,),): 1}, "Python has no mapping with such keys"),
    (t.MapType(t.StringType(), t.IntegerType()), {"a": "x"}, "['a'] is declared as INT, but is 'x' (str)"),
    (t.MapType(t.StringType(), t.IntegerType()), {None: 1}, "key is declared as STRING, but is None"),
    (t.MapType(t.StringType(), t.IntegerType()), {1: 1, "1": 2}, "two of its keys are equal in this type"),
    (PAIR, (1,), "it has 1 values for 2 fields"),
    (PAIR, {"c": 2}, "it has no 'a'"),
    (PAIR, {"A": 1, "b": "x"}, "it has no 'a'"),
    (PAIR, Unseen(), "but is a value that cannot be shown (Unseen): it has no 'a'"),
    (PAIR, 5, "STRUCT<a: INT, b: STRING>, but is 5 (int)"),
    (PAIR, pd.DataFrame({"a": [1], "b": ["x"]}), "but is a b 0 1 x (DataFrame)"),
    (PAIR, Row(b="x", a=1), "it has the field b at another place than declared"),
    (PAIR, Row(n=1, a="x"), "it has the field a at another place than declared"),
    (PAIR, Turned("x", 1), "it has the field b at another place than declared"),
    (t.IntegerType(), object(), "INT, but is <object object> (object)"),
    (t.IntegerType(), np.array([[1, 2], [3, 4]]), "INT, but is array([[1, 2], [3, 4]]) (ndarray)"),
    (PAIR, ("x", "y"), "a is declared as INT, but is 'x' (str)"),
    (t.ArrayType(PAIR), [(1, "x"), (1.5, "x")], "[1].a is declared as INT, but is 1.5 (float)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "converted"), FIT)
def test_a_value_that_loses_nothing_is_converted(kind: t.DataType, value: Any, converted: Any) -> None:
    result = converter(kind)(value)
    assert result == converted
    assert type(result) is type(converted) or isinstance(result, Row)


@pytest.mark.parametrize(("kind", "value", "message"), MISFITS)
def test_a_value_that_does_not_fit_is_refused(kind: t.DataType, value: Any, message: str) -> None:
    with pytest.raises(Misfit, match=r"declared as ") as caught:
        converter(kind)(value)
    assert message in str(caught.value)


def test_a_number_with_too_many_digits_for_a_text_is_refused() -> None:
    with pytest.raises(Misfit) as caught:
        converter(t.LongType())(10**5000)
    assert "but is a value that cannot be shown (int): it is out of range" in str(caught.value)


@pytest.mark.parametrize("kind", {type(kind): kind for kind, _, _ in FIT}.values(), ids=str)
@pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.datetime64("NaT"), np.ma.masked], ids=str)
def test_missing_values_are_null_where_the_type_allows_it(kind: t.DataType, missing: Any) -> None:
    assert converter(kind)(missing) is None
    with pytest.raises(Misfit, match="it cannot be NULL"):
        converter(kind, nullable=False)(missing)


NUMBERS = st.integers() | st.floats() | st.decimals() | st.booleans()
NUMERIC = st.sampled_from(
    [t.ByteType(), t.IntegerType(), t.LongType(), t.DoubleType(), t.DecimalType(10, 3), t.DecimalType(38, 38)]
)


@given(NUMERIC, NUMBERS)
def test_a_converted_number_is_equal_to_the_result(kind: t.DataType, value: Any) -> None:
    try:
        converted = converter(kind)(value)
    except Misfit:
        return
    decimal_digits = isinstance(value, Decimal) != isinstance(converted, Decimal)
    exact = [Decimal(repr(each)) if isinstance(each, float) else each for each in (value, converted)]
    assert converted == value or (converted != converted) or (decimal_digits and exact[0] == exact[1])


SERIES: list[tuple[t.DataType, pd.Series, list[Any]]] = [
    (t.LongType(), pd.Series([1, 2], dtype="int32"), [1, 2]),
    (t.IntegerType(), pd.Series([1, 2], dtype="int64"), [1, 2]),
    (t.IntegerType(), pd.Series([1.0, None]), [1, None]),
    (t.IntegerType(), pd.Series([1, None], dtype="Int64"), [1, None]),
    (t.StringType(), pd.Series(["a", None, math.nan], dtype="object"), ["a", None, None]),
    (t.DoubleType(), pd.Series([1, 2]), [1.0, 2.0]),
    (t.DecimalType(4, 2), pd.Series([Decimal(1), None]), [Decimal("1.00"), None]),
    (t.DateType(), pd.Series(pd.to_datetime(["2026-01-01", None])), [DAY, None]),
    (t.ArrayType(t.IntegerType()), pd.Series([[1.0], None]), [[1], None]),
]


@pytest.mark.parametrize(("kind", "series", "converted"), SERIES)
def test_a_series_is_converted(kind: t.DataType, series: pd.Series, converted: list[Any]) -> None:
    result = series_converter(kind)(series)
    assert list(result) == converted
    assert list(result.index) == list(series.index)


@pytest.mark.parametrize(
    ("kind", "series", "message"),
    [
        (t.IntegerType(), pd.Series([1.5]), "INT, but is 1.5 (float)"),
        (t.IntegerType(), pd.Series([2**40]), "it is out of range"),
        (t.StringType(), pd.Series([DAY]), "STRING, but is datetime.date(2026, 1, 1) (date)"),
        (t.TimestampType(), pd.Series([pd.Timestamp(1)]), "it has nanoseconds"),
        (t.TimestampNTZType(), pd.Series([pd.Timestamp(AWARE)]), "it would lose its time zone"),
        (PAIR, pd.DataFrame({"a": [1.5], "b": ["x"]}), "a is declared as INT, but is 1.5 (float)"),
    ],
)
def test_a_series_that_does_not_fit_is_refused(kind: t.DataType, series: Any, message: str) -> None:
    with pytest.raises(Misfit) as caught:
        series_converter(kind)(series)
    assert message in str(caught.value)


@pytest.fixture
def zurich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local time of a worker whose document has this zone."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Europe/Zurich")
        time.tzset()
        yield
    time.tzset()


REPEATED = dt.datetime.fromisoformat("2026-10-25T02:30:00")


@pytest.mark.parametrize(
    ("wall", "moment"),
    [
        (NOON, dt.datetime(2026, 1, 1, 11, 0, 0, 1, UTC)),
        (REPEATED, dt.datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        (REPEATED.replace(fold=1), dt.datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
    ],
)
@pytest.mark.usefixtures("zurich")
def test_a_time_without_zone_is_one_of_the_document(wall: dt.datetime, moment: dt.datetime) -> None:
    assert converter(t.TimestampType())(wall) == moment


@pytest.mark.usefixtures("zurich")
def test_the_first_times_of_python_are_before_all_moments() -> None:
    with pytest.raises(Misfit, match="it is out of range"):
        converter(t.TimestampType())(dt.datetime.fromisoformat("0001-01-01"))
    last = dt.datetime.fromisoformat("9999-12-31T23:59:59")
    assert converter(t.TimestampType())(last) == last.replace(hour=22, tzinfo=UTC)
    restore = restorer(t.TimestampType())
    assert restore
    assert restore(dt.datetime.fromisoformat("0001-01-01")).year == 1


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31T23:59:59.999999"])
def test_in_utc_every_time_of_python_is_a_moment(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time_of_day = dt.datetime.fromisoformat(day)
    assert converter(t.TimestampType())(time_of_day) == time_of_day.replace(tzinfo=UTC)
    series = pd.Series([time_of_day], dtype="datetime64[us]")
    assert list(series_converter(t.TimestampType())(series)) == [time_of_day.replace(tzinfo=UTC)]


@pytest.mark.parametrize("wall", ["2026-10-25T02:30:00", "2026-03-29T02:30:00"], ids=["twice", "never"])
@pytest.mark.usefixtures("zurich")
def test_a_series_without_zone_has_no_time_that_the_clocks_show_twice_or_never(wall: str) -> None:
    series = pd.Series(pd.to_datetime([wall, None, "2026-01-01T12:00:00"]))
    with pytest.raises(Misfit, match="show it twice or never; return it with its time zone"):
        series_converter(t.TimestampType())(series)
    assert series_converter(t.TimestampNTZType())(series) is series
    noon = dt.datetime(2026, 1, 1, 11, tzinfo=UTC)
    for each in (series[1:], series[1:].astype("object"), series[1:].astype("timestamp[us][pyarrow]")):
        converted = series_converter(t.TimestampType())(each)
        assert str(converted.dtype) == "datetime64[us, UTC]"
        assert list(converted) == [pd.NaT, noon] or (pd.isna(converted.iloc[0]) and converted.iloc[1] == noon)


KEPT = t.StructType(
    [
        t.StructField("at", t.TimestampType()),
        t.StructField("local", t.TimestampNTZType()),
        t.StructField("all", t.ArrayType(t.TimestampType())),
        t.StructField("by", t.MapType(t.TimestampType(), t.StringType())),
        t.StructField("n", t.IntegerType()),
    ]
)


@pytest.mark.usefixtures("zurich")
def test_only_moments_come_back_from_state_with_a_zone() -> None:
    restore = restorer(KEPT)
    assert restore is not None
    local = MIDNIGHT.replace(hour=1)
    kept = Row(local, MIDNIGHT, [local, None], {local: "x"}, 0)
    assert restore(kept) == (AWARE, MIDNIGHT, [AWARE, None], {AWARE: "x"}, 0)
    assert restore(Row(None, None, None, None, None)) == (None,) * 5
    assert restorer(t.ArrayType(PAIR)) is None


def test_a_frame_without_names_is_read_by_position() -> None:
    day = t.StructType([t.StructField("n", t.IntegerType()), t.StructField("day", t.DateType())])
    converted = series_converter(day)(pd.DataFrame([[1.0, MIDNIGHT]]))
    assert converted.to_numpy().tolist() == [[1, DAY]]
    with pytest.raises(Misfit, match="day is declared as DATE"):
        series_converter(day)(pd.DataFrame([[1.0, NOON]]))


@pytest.mark.parametrize("values", [pd.Series([1, None], dtype="object"), pd.Series([1.0, None])])
def test_a_column_that_cannot_be_null_has_no_missing_value(values: pd.Series) -> None:
    never = t.StructType([t.StructField("n", t.DoubleType(), nullable=False)])
    with pytest.raises(Misfit, match="it cannot be NULL"):
        series_converter(never)(pd.DataFrame({"n": values}))


@pytest.mark.parametrize("kind", [t.LongType(), t.StringType(), t.DateType(), t.DecimalType(4, 2)], ids=str)
def test_an_aggregate_of_no_values_is_null(kind: t.DataType) -> None:
    assert aggregate_converter(kind)(pd.Series([], dtype="float64").max()) is None


def test_a_row_of_a_processor_is_read_by_name() -> None:
    convert = row_converter(PAIR)
    assert convert(Row(b="x", a=1)).asDict() == {"a": 1, "b": "x"}
    for row in (Row(a=1), Row(a=1, b="x", c=2), Row(A=1, b="x")):
        with pytest.raises(Misfit, match="its fields are"):
            convert(row)


def test_a_frame_keeps_its_shape_and_the_function_its_own_frame() -> None:
    frame = pd.DataFrame({"b": ["x"], "a": [1.0], "other": [None]})
    converted = series_converter(PAIR)(frame)
    assert list(converted.columns) == ["b", "a", "other"]
    assert (converted["a"].iloc[0], frame["a"].dtype) == (1, np.dtype("float64"))


def test_a_worker_reports_the_function_with_the_value() -> None:
    typed = TypedFunction(int, Typed("function 'number'", t.BooleanType()))
    for each in (typed, pickle.loads(pickle.dumps(typed))):
        with pytest.raises(NotReady) as caught:
            each("5")
        assert str(caught.value) == (
            "function 'number': the result is declared as BOOLEAN, but is 5 (int) [PythonFailed]"
        )
