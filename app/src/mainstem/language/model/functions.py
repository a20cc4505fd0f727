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
    """Type of what it returns, as DDL: `INT`, `STRUCT<a INT, b STRING>`."""
    vectorized: bool = False
    """It takes and returns pandas Series, a batch of rows at once, in place of single values."""
    aggregate: bool = False
    """It takes the pandas Series of a group and returns one value; not over a stream, which Spark refuses."""


class JavaFunction(Model):
    """A class that implements one of Spark's `UDF0` to `UDF22`, or for an aggregate `UserDefinedAggregateFunction`."""

    class_: Annotated[JavaClass, Field(alias="class")]
    """Full name of the class."""
    jar: Text | None = None
    """Local path of the jar that holds it; without it the class is in the image, among Spark's jars."""
    returns: DataType | None = None
    """Type of what it returns, as DDL; without it Spark asks the class. Not for an aggregate, which has its own type."""
    aggregate: bool = False
    """It makes one value of a group."""


class Function(Model):
    """A function that SQL calls by its name: one of `python`, `java`."""

    one_of: ClassVar = ("python", "java")

    name: Identifier
    """Name in SQL; none of Spark's own."""
    python: PythonFunction | None = None
    """A function of Python's."""
    java: JavaFunction | None = None
    """A class of Java's, or of another language of the JVM's."""
