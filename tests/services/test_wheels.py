"""The wheels alone, in a fresh environment and an empty folder: Kafka to a Delta table on S3, credentials kept to themselves."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable
from harness.driver import descendants
from harness.kafka import Broker
from harness.records import Record
from harness.s3 import S3Server
from harness.waiting import within


pytestmark = pytest.mark.full(
    gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
)


ROOT = Path(__file__).parents[2]
ROWS = 500
DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: wheels}}
spec:
  connections:
    - {{name: events, kafka: {{bootstrapServers: "{brokers}"}}}}
    - {{name: store, s3: {{buckets: [wheels], endpoint: "{endpoint}", pathStyle: true{secret}}}}}
  sources:
    - name: orders
      kafka: {{connection: events, subscribe: [wheels], startingOffsets: earliest}}
      decode: {{json: {{schema: "id BIGINT, shop STRING"}}, onMalformedRecord: drop}}
  views:
    - {{name: loud, sql: "SELECT id, upper(shop) AS shop FROM orders"}}
  queries:
    - name: copy
      from: loud
      to: [{{name: table, delta: {{path: s3a://wheels/{name}}}}}]
      trigger: {{availableNow: true}}
  checkpoints: {{location: s3a://wheels/checkpoints/{name}}}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that holds the wheels and what they depend on, and nothing of the checkout."""
    wheels = list((ROOT / "dist").glob("mainstem*.whl"))
    assert {wheel.name.partition("-")[0] for wheel in wheels} >= {"mainstem", "mainstem_jars"}, (
        "run make wheels"
    )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    uv = shutil.which("uv") or str(cache / "mainstem" / "bin" / "uv")
    home = tmp_path_factory.mktemp("wheels") / "venv"

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([uv, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    run("venv", "--quiet", "--python", sys.executable, str(home)).check_returncode()
    install = ["pip", "install", "--quiet", "--python", str(home / "bin" / "python"), "--find-links", "dist"]
    install += ["--constraint", "requirements.lock", "mainstem[spark]"]
    fresh = ["--reinstall-package", "mainstem", "--reinstall-package", "mainstem-jars"]
    # What `make setup` has put into uv's cache is enough; asked about it again, the registry may send 450 MB anew.
    done = run(*install, *fresh, "--offline")
    if done.returncode:
        done = run(*install, *fresh)
    assert done.returncode == 0, done.stderr
    return home / "bin"


@pytest.fixture(scope="module")
def topic(kafka: Broker) -> Broker:
    kafka.create_topic("wheels", 2)
    rows = [Record(None, json.dumps({"id": n, "shop": "bern"}).encode()) for n in range(ROWS)]
    kafka.produce("wheels", [*rows[:100], Record(None, b"{"), *rows[100:]])
    return kafka


def clean(folder: Path, **given: str) -> dict[str, str]:
    """An environment that knows nothing of the checkout."""
    (folder / "tmp").mkdir(parents=True)
    foreign = ("PYTHON", "VIRTUAL_ENV", "AWS_", "MAINSTEM_", "SPARK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    return kept | {"TMPDIR": str(folder / "tmp"), "AWS_EC2_METADATA_DISABLED": "true", **given}


def test_the_source_tree_is_not_on_the_path(installed: Path, tmp_path: Path) -> None:
    script = "import mainstem, mainstem_jars, sys; print(mainstem.__file__, mainstem_jars.__file__, *sys.path, sep='\\n')"
    done = subprocess.run(
        [installed / "python", "-c", script],
        cwd=tmp_path,
        env=clean(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    paths = done.stdout.split()
    assert all(path.startswith(str(installed.parent)) for path in paths[:2])
    assert not any(path.startswith(f"{ROOT}/") for path in paths)


@pytest.mark.S01
@pytest.mark.S28
@pytest.mark.parametrize("variant", ["environment", "folder"])
def test_wheels_alone_copy_kafka_to_delta_on_s3(
    installed: Path, topic: Broker, s3: S3Server, tmp_path: Path, variant: str
) -> None:
    s3.make_bucket("wheels")
    secret = ", secretRef: {name: s3-user}" if variant == "folder" else ""
    document = tmp_path / "wheels.yaml"
    document.write_text(
        DOCUMENT.format(brokers=topic.bootstrap_servers, endpoint=s3.endpoint, name=variant, secret=secret),
        encoding="utf-8",
    )
    if variant == "folder":
        folder = tmp_path / "secrets" / "s3-user"
        folder.mkdir(parents=True)
        (folder / "accessKey").write_text(f"{s3.access_key}\n", encoding="utf-8")
        (folder / "secretKey").write_text(f"{s3.secret_key}\n", encoding="utf-8")
        env = clean(tmp_path, MAINSTEM_SECRETS=str(tmp_path / "secrets"))
    else:
        env = clean(tmp_path, AWS_ACCESS_KEY_ID=s3.access_key, AWS_SECRET_ACCESS_KEY=s3.secret_key)

    arguments: set[str] = set()
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        argv = [installed / "mainstem", "run", document, "--verbose", "--heap=1g", "--report=report.json"]
        run = subprocess.Popen(argv, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:

            def over() -> bool:
                arguments.update(command_lines(run.pid))
                return run.poll() is not None

            within(200, "the end of the run", over)
        finally:
            run.kill()
            run.wait()
    output = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("out", "err", "report.json")}
    assert run.returncode == 0, output["err"][-4000:]

    rows = DeltaTable(str(s3.root / "wheels" / variant)).to_pyarrow_table().to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(ROWS))
    assert {row["shop"] for row in rows} == {"BERN"}
    [query] = json.loads(output["report.json"])["queries"]
    assert (query["state"], query["sources"][0]["decoded"], query["sources"][0]["malformed"]) == (
        "Completed",
        ROWS,
        1,
    )

    jvm = [line for line in arguments if "java" in line and "SparkSubmit" in line]
    assert jvm, "the JVM was not seen"
    assert f"-Djava.io.tmpdir={tmp_path}/tmp/mainstem-" in jvm[0], "Java leaves files elsewhere"
    for value in (s3.access_key, s3.secret_key):
        assert not [line for line in arguments if value in line], "ps shows a credential"
        assert not [name for name, text in output.items() if value in text]
    assert list((tmp_path / "tmp").iterdir()) == [], "the scratch folder, where the profile lay, is left"


def command_lines(pid: int) -> set[str]:
    """What `ps` shows of the processes below one."""
    lines = set()
    for child in descendants(pid):
        try:
            lines.add(Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return lines
