"""User-defined functions that SQL can call: Python functions of a module, Java classes."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from mainstem.language.base import Identifier, JavaClass, Model, PythonObject, Text


DataType = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class PythonFunction(Model):
    """A plain Python function; docs/python.md describes how it is found."""

    function: PythonObject
    """`module:name` of the function."""
    returns: DataType
    """Type of the result, as DDL: `INT`, `STRUCT<a INT, b STRING>`."""
    vectorized: bool = False
    """True if the function takes and returns pandas Series, with many rows at once, instead of single values."""
    aggregate: bool = False
    """True if the function takes the pandas Series of a group and returns one value. Spark refuses it over a
    stream."""


class JavaFunction(Model):
    """A class that implements one of Spark's `UDF0` to `UDF22`, or for an aggregate `UserDefinedAggregateFunction`."""

    class_: Annotated[JavaClass, Field(alias="class")]
    """Full name of the class."""
    jar: Text | None = None
    """Local path of the jar with the class; without it the class is in a jar of `packages`, or among Spark's jars."""
    returns: DataType | None = None
    """Type of the result, as DDL; by default Spark asks the class. Not for an aggregate, which defines its own
    type."""
    aggregate: bool = False
    """True if the class computes one value for each group."""


class Function(Model):
    """A function that SQL calls by its name: one of `python`, `java`."""

    one_of: ClassVar = ("python", "java")

    name: Identifier
    """Name in SQL; not the name of a function of Spark."""
    python: PythonFunction | None = None
    """A Python function."""
    java: JavaFunction | None = None
    """A class in Java or in another language of the JVM."""

    @property
    def aggregates(self) -> bool:
        """Whether it returns one value for each group."""
        return bool((self.python and self.python.aggregate) or (self.java and self.java.aggregate))
