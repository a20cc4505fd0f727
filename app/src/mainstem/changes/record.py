"""The record of the document under which a checkpoint was last written; pure.

It has only what one query reads of the document. A document contains no credential, so the record contains none.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from mainstem import __version__
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import PipelineSpec, StreamingPipeline
from mainstem.language.requirements import catalogs_named, functions_of, stores_used, used


@dataclass(frozen=True)
class DocumentRecord:
    """The document under which a checkpoint was last written.

    Attributes:
        document: the part of the document that the query reads, with its parameters filled in.
        time: when the record was made, in ISO 8601.
        version: Mainstem's version.
    """

    document: StreamingPipeline
    time: str
    version: str = __version__

    def text(self) -> str:
        """The record as canonical JSON: with all defaults, because a later version may have others."""
        document = self.document.model_dump(mode="json", by_alias=True, exclude_none=True)
        content = {"mainstem": self.version, "time": self.time, "document": document}
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"


def parse(text: str) -> DocumentRecord | None:
    """The record of a text; None if this version cannot read it."""
    try:
        content = json.loads(text)
        document = StreamingPipeline.model_validate(content["document"])
        return DocumentRecord(document, str(content["time"]), str(content["mainstem"]))
    except (ValidationError, ValueError, KeyError, TypeError):
        return None


def part_of(graph: Graph, name: str) -> StreamingPipeline:
    """The part of a document that the query of this name reads: its relations, functions, connections and checkpoint."""
    spec = graph.spec
    query = next(query for query in spec.queries if query.name == name)
    relations = set(graph.closure(query.from_))
    sources = {source.name for source in graph.sources_of(query.from_)}
    connections = used(graph, [query]) | stores_used(graph, query) | catalogs_named(graph, query)
    part = {
        "connections": tuple(each for each in spec.connections if each.name in connections),
        "functions": tuple(functions_of(graph, query)),
        "sources": tuple(each for each in spec.sources if each.name in sources),
        "views": tuple(each for each in spec.views if each.name in relations),
        "queries": (query,),
        "checkpoints": spec.checkpoints,
        "time_zone": spec.time_zone,
        "spark": spec.spark,
    }
    return graph.pipeline.model_copy(update={"spec": spec.model_copy(update=_other_defaults(part) | part)})


def _other_defaults(part: Collection[str]) -> dict[str, Any]:
    """Field of a document -> its default, for all fields that are not in the part."""
    fields = PipelineSpec.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields if name not in part}


def placed(record: StreamingPipeline, wanted: StreamingPipeline) -> StreamingPipeline:
    """The recorded part with the checkpoint and the pipeline's name of another part of one query.

    The record belongs to this checkpoint, also after all checkpoints were moved. Which pipeline may continue from it is for
    the owner record to say.
    """
    query = record.spec.queries[0].model_copy(
        update={"name": wanted.spec.queries[0].name, "checkpoint": wanted.spec.queries[0].checkpoint}
    )
    spec = record.spec.model_copy(update={"queries": (query,), "checkpoints": wanted.spec.checkpoints})
    return record.model_copy(update={"spec": spec, "metadata": wanted.metadata})
