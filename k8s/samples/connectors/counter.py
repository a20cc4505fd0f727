"""Connectors in Python: numbers to read as a stream, and folders of lines to write."""

import uuid
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamWriter,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)


class Counter(DataSource):
    """The numbers from 1 to the option `last`."""

    def schema(self) -> str:
        return "number INT"

    def simpleStreamReader(self, schema: object) -> "Numbers":
        return Numbers(int(self.options["last"]))


class Numbers(SimpleDataSourceStreamReader):
    """Up to three numbers in a batch; an offset is the last number read."""

    def __init__(self, last: int) -> None:
        self.last = last

    def initialOffset(self) -> dict[str, int]:
        return {"number": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int]], dict[str, int]]:
        end = {"number": min(start["number"] + 3, self.last)}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[int]]:
        return iter([(number,) for number in range(start["number"] + 1, end["number"] + 1)])


class Lines(DataSource):
    """A folder with one file of lines for each batch; a repeated batch replaces its file."""

    def streamWriter(self, schema: object, overwrite: bool) -> "Writer":
        return Writer(Path(self.options["folder"]))


class Writer(DataSourceStreamWriter):
    """Each task writes a part; the commit joins the parts into the file of the batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, rows: Iterator[Row]) -> "Part":
        text = "".join(f"{row.number}\n" for row in rows)
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f".{uuid.uuid4()}"
        part.write_text(text)
        return Part(part)

    def commit(self, messages: "list[Part | None]", batchId: int) -> None:
        parts = [message.file for message in messages if message]
        whole = self.folder / f".{batchId}"
        whole.write_text("".join(part.read_text() for part in parts))
        whole.rename(self.folder / f"{batchId}.txt")
        for part in parts:
            part.unlink()

    def abort(self, messages: "list[Part | None]", batchId: int) -> None:
        for message in messages:
            if message:
                message.file.unlink(missing_ok=True)


class Part(WriterCommitMessage):
    """The file that a task has written."""

    def __init__(self, file: Path) -> None:
        self.file = file
