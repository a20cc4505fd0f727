"""Python code as a sink."""

from typing import ClassVar

from pydantic import Field

from mainstem.language.base import Options, PythonObject
from mainstem.language.model.connectors.kinds import Delivery, Guarantee, SinkKind


class PythonSink(SinkKind):
    """Rows or batches to Python code from the image, at least once: after a failure the code gets the last batch
    again.
    """

    one_of: ClassVar = ("foreach", "foreachBatch")
    connection_kind: ClassVar = None
    options_field: ClassVar = "arguments"
    owned_options: ClassVar = {}
    refusals: ClassVar = ()
    continuous: ClassVar = False
    real_time: ClassVar = True
    real_time_alternative: ClassVar = "foreach"
    async_progress: ClassVar = False
    by_number: ClassVar = True

    foreach: PythonObject | None = None
    """A function, `module:function`, that Spark calls with each row and the arguments by name. Or a class,
    `module:Class`, with `process(row)` and optionally `open(partition, batch)` and `close(error)`; `open` may refuse
    a partition that the target already has. The driver creates one object of the class, with the arguments, and sends
    it to the executors."""
    foreach_batch: PythonObject | None = None
    """A function, `module:function`, that the driver calls with each batch as a DataFrame, the batch's number, and
    the arguments by name. A repeated batch has the same number."""
    arguments: Options = Field(default_factory=dict)
    """Keyword arguments of the class or function, all strings."""

    def guarantee(self) -> Guarantee:
        """The code can recognize a repeated batch by its number."""
        text = (
            "after a failure a batch may come again, with the same number; your code decides what that does"
        )
        return Guarantee(Delivery.AT_LEAST_ONCE, text)

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """Only the code knows; the numbers of the batches come again with other rows."""
        return "passes other rows under the same batch numbers to its code, which must not skip these numbers"
