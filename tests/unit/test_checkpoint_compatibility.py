"""The settings that a checkpoint fixes, compared with the document."""

import json

import pytest
from mainstem.language.model.queries import STATE_STORES, State
from mainstem.runtime.checkpoint.checkpoint_compatibility import PROVIDER, differences


@pytest.mark.parametrize(
    ("partitions", "conf", "expected"),
    [
        ([8], {PROVIDER: STATE_STORES["rocksdb"]}, []),
        ([2], {PROVIDER: STATE_STORES["rocksdb"]}, ["state.partitions is fixed at 2"]),
        ([8, 8], {PROVIDER: STATE_STORES["hdfs"]}, ["state.provider is fixed at hdfs"]),
        ([], {PROVIDER: "com.acme.Store"}, ["state.provider is fixed at com.acme.Store"]),
        ([3], {}, ["state.partitions is fixed at 3"]),
        ([], None, []),
    ],
)
def test_a_setting_that_differs_from_the_checkpoint_is_reported(
    partitions: list[int], conf: dict[str, str] | None, expected: list[str]
) -> None:
    entry = "\n".join(["v2", json.dumps({"batchWatermarkMs": 0, "conf": conf}), 'a:{"logOffset":0}'])
    stores = [{"storeName": "default", "numPartitions": number} for number in partitions]
    operator = "v1\n" + json.dumps({"operatorInfo": {"operatorId": 0}, "stateStoreInfo": stores})
    assert differences([operator], entry, State()) == expected
    assert differences([], "", State()) == []
