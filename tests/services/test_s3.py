"""Files that S3A sends in parts: Parquet and Delta on a real store, checkpoint beside them, every byte as it was."""

import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from harness.driver import DriverProcess
from harness.s3 import S3Server


pytestmark = pytest.mark.full(
    gate="services/test_checkpoint_files.py::test_large_state_is_written_from_a_temporary_file"
)


LINES, LINE = 1_500, 48 << 10
"""Of bytes that no codec makes smaller: 72 MB, more than the 64 MiB of one part."""
DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: large}}
spec:
  connections:
    - {{name: store, s3: {{buckets: [large], endpoint: "{endpoint}", pathStyle: true}}}}
  sources:
    - {{name: lines, files: {{path: "{folder}", format: text}}}}
  views:
    - {{name: payloads, sql: "SELECT unbase64(value) AS payload FROM lines"}}
  queries:
    - name: archive
      from: payloads
      to: [{{name: files, parquet: {{path: s3a://large/archive}}}}]
      trigger: {{availableNow: true}}
    - name: table
      from: payloads
      to: [{{name: table, delta: {{path: s3a://large/table}}}}]
      trigger: {{availableNow: true}}
  checkpoints: {{location: s3a://large/checkpoints}}
"""


@pytest.mark.S28
@pytest.mark.timeout(600)
def test_a_file_of_several_parts_is_complete(s3: S3Server, tmp_path: Path) -> None:
    s3.make_bucket("large")
    payloads = [os.urandom(LINE) for _ in range(LINES)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lines.txt").write_bytes(b"\n".join(map(base64.b64encode, payloads)))
    document = tmp_path / "large.yaml"
    document.write_text(DOCUMENT.format(endpoint=s3.endpoint, folder=tmp_path / "in"), encoding="utf-8")
    env = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    # One core: Spark would split the lines into a file for each.
    with DriverProcess(document, tmp_path / "run", arguments=("--cores=1",), env=env) as driver:
        assert driver.wait(300) == 0, driver.stderr[-4000:]
    expected = sorted(hashlib.sha256(payload).digest() for payload in payloads)
    bucket = s3.root / "large"
    for path in (bucket / "archive", bucket / "table"):
        [file] = path.glob("part-*.parquet")
        assert parts(s3, file) > 1, "one PUT took it all"
        assert digests(pyarrow.parquet.read_table(file)) == expected
    assert digests(DeltaTable(str(bucket / "table")).to_pyarrow_table()) == expected
    assert (bucket / "checkpoints" / "table" / "1" / "commits" / "0").exists()


def digests(table: Any) -> list[bytes]:
    return sorted(hashlib.sha256(payload).digest() for payload in table["payload"].to_pylist())


def parts(s3: S3Server, file: Path) -> int:
    """The parts of an upload: S3 tells them behind the dash of the ETag."""
    client = boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
        region_name=s3.region,
    )
    head = client.head_object(Bucket="large", Key=str(file.relative_to(s3.root / "large")))
    _, dash, count = head["ETag"].strip('"').partition("-")
    return int(count) if dash else 1
