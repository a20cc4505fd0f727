"""Compares the state layout that a checkpoint's first batch has fixed with the layout in the document.

The first batch fixes the number of state partitions. With another number Spark 4.2 reads only the partitions that it now
has: it silently loses the rows of the others, or misses their files. The offset log fixes the state store, and Spark
continues with this store whatever the session sets.
"""

import json
import re
from typing import Final

from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.checkpoints import entries
from mainstem.errors import NotReady
from mainstem.filesystem import Directory, newest
from mainstem.language.model.queries import STATE_STORES, State
from mainstem.runtime.checkpoint import damage


PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_METADATA_FILE: Final = re.compile(r"/_metadata/(metadata|v2/\d+)$")


def refuse_change(session: SparkSession, checkpoint: str, state: State) -> None:
    """Refuse a document whose state layout differs from the checkpoint's.

    Raises:
        NotReady: `StateLayoutChanged`: the checkpoint has state with another layout. `CheckpointDamaged`.
    """
    folder = Directory(session, checkpoint)
    metadata, offsets = folder / "state" / "0" / "_metadata", folder / "offsets"
    if not metadata.exists() or not offsets.exists():
        return
    files = [match[0] for file in metadata.files() if (match := _METADATA_FILE.search(file.path))]
    operators = [damage.text(session, checkpoint, f"state/0{file}", entries.operator) for file in files]
    batch = newest(offsets)
    entry = "" if batch is None else damage.text(session, checkpoint, f"offsets/{batch}", entries.plan)
    if changes := differences(operators, entry, state):
        raise NotReady(
            f"the state in {checkpoint} has another layout than the document: {'; '.join(changes)}",
            reason=reasons.STATE_LAYOUT_CHANGED,
            remedy="restore the old value, or raise checkpoint.generation to start with an empty checkpoint",
        )


def differences(operators: list[str], entry: str, state: State) -> list[str]:
    """The fixed settings that differ from the document's; pure.

    Args:
        operators: every version of Spark's metadata of a stateful operator.
        entry: the newest entry of the offset log.
        state: the state settings of the document.
    """
    changes = []
    stores = [store for text in operators for store in json.loads(text.splitlines()[-1])["stateStoreInfo"]]
    partitions = max((int(store["numPartitions"]) for store in stores), default=state.partitions)
    if partitions != state.partitions:
        changes.append(f"state.partitions is fixed at {partitions}")
    provider_names = {class_name: provider for provider, class_name in STATE_STORES.items()}
    conf = (json.loads(entry.splitlines()[1]).get("conf") or {}) if entry else {}
    provider = conf.get(PROVIDER, STATE_STORES[state.provider])
    if provider != STATE_STORES[state.provider]:
        changes.append(f"state.provider is fixed at {provider_names.get(provider, provider)}")
    return changes
