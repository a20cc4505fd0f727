"""Checkpoint files on S3: a write that returns has happened, and of several writers of one file one succeeds."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.s3 import S3Server
from harness.s3proxy import S3Proxy
from harness.sampling import only, sampled
from harness.waiting import within
from mainstem.runtime.checkpoint.ownership import RECORD, TOKEN
from mainstem.runtime.spark.conf import CHECKPOINT_FILES
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S28
WRITERS = 12
EXISTS = "org.apache.hadoop.fs.FileAlreadyExistsException"


@pytest.fixture(scope="module")
def proxy(s3: S3Server) -> Iterator[S3Proxy]:
    s3.make_bucket("files")
    with S3Proxy(s3) as proxy:
        yield proxy


class Files:
    """The checkpoint file manager of a session, as Spark makes it."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.jvm: Any = spark._jvm
        self.folder = folder
        path = self.jvm.org.apache.hadoop.fs.Path(folder)
        checkpointing = self.jvm.org.apache.spark.sql.execution.streaming.checkpointing
        self.manager = checkpointing.CheckpointFileManager.create(
            path, spark._jsparkSession.sessionState().newHadoopConf()
        )
        self.manager.mkdirs(path)

    def begin(self, name: str, text: str, *, overwrite: bool = False) -> Any:
        """A stream that has the text and is not closed."""
        stream = self.manager.createAtomic(
            self.jvm.org.apache.hadoop.fs.Path(f"{self.folder}/{name}"), overwrite
        )
        stream.write(text.encode())
        return stream

    def write(self, name: str, text: str, *, overwrite: bool = False) -> None:
        self.begin(name, text, overwrite=overwrite).close()


@pytest.fixture
def session(spark: SparkSession, s3: S3Server, proxy: S3Proxy) -> Iterator[SparkSession]:
    session = spark.newSession()
    few = {"attempts.maximum": "2", "retry.limit": "1", "retry.throttle.limit": "1"}
    s3.open_to(spark, "files", endpoint=proxy.endpoint, **few)
    yield session
    proxy.heal()


@pytest.fixture
def files(session: SparkSession, request: pytest.FixtureRequest) -> Files:
    return Files(session, f"s3a://files/{request.node.originalname}")


@pytest.fixture
def bucket(s3: S3Server, files: Files) -> Path:
    return s3.root / files.folder.removeprefix("s3a://")


def test_a_run_uses_the_checkpoint_file_manager_of_mainstem(files: Files) -> None:
    assert files.manager.getClass().getName() == CHECKPOINT_FILES


@pytest.mark.parametrize("overwrite", only([False, True], [True]))
def test_a_write_that_the_store_rejects_fails(
    files: Files, bucket: Path, proxy: S3Proxy, overwrite: bool
) -> None:
    name = str(overwrite)
    fault = proxy.fail(f"/{name}")
    with pytest.raises(Py4JJavaError) as refused:
        files.write(name, "plan", overwrite=overwrite)
    assert "503" in str(refused.value.java_exception)
    assert len(fault.hits) > 1
    assert not (bucket / name).exists()
    proxy.heal()
    files.write(name, "plan", overwrite=overwrite)
    assert (bucket / name).read_text() == "plan"


@pytest.mark.parametrize("overwrite", sampled([False, True], every=2))
def test_a_write_that_is_rejected_once_succeeds(
    files: Files, bucket: Path, proxy: S3Proxy, overwrite: bool
) -> None:
    name = str(overwrite)
    fault = proxy.fail(f"/{name}", times=1)
    files.write(name, "plan", overwrite=overwrite)
    assert len(fault.hits) == 1
    assert (bucket / name).read_text() == "plan"


@pytest.mark.parametrize("times", [1, None], ids=["once", "every-time"])
@pytest.mark.parametrize("overwrite", only([False, True], (True,)))
def test_a_write_without_an_answer_is_verified(
    files: Files, bucket: Path, proxy: S3Proxy, overwrite: bool, times: int | None
) -> None:
    """Once: the client's own retry is refused, because its first attempt has created the file."""
    name = f"{overwrite}-{times}"
    fault = proxy.fail(f"/{name}", "cut", times)
    files.write(name, "plan", overwrite=overwrite)
    assert (bucket / name).read_text() == "plan"
    assert fault.hits


def test_the_second_writer_of_a_file_fails(files: Files, bucket: Path) -> None:
    first, second = files.begin("7", "the same plan"), files.begin("7", "the same plan")
    first.close()
    with pytest.raises(Py4JJavaError) as refused:
        second.close()
    assert refused.value.java_exception.getClass().getName() == EXISTS
    second.cancel()
    assert (bucket / "7").read_text() == "the same plan"


def test_the_second_writer_fails_although_its_answer_is_lost(files: Files, proxy: S3Proxy) -> None:
    first, second = files.begin("7", "the same plan"), files.begin("7", "the same plan")
    first.close()
    proxy.fail("/7", "cut", 1)
    with pytest.raises(Py4JJavaError) as refused:
        second.close()
    assert refused.value.java_exception.getClass().getName() == EXISTS


def test_of_many_simultaneous_writers_one_succeeds(files: Files) -> None:
    for race in range(4):
        streams = [files.begin(str(race), "the same plan") for _ in range(WRITERS)]
        written: list[int] = []
        barrier = threading.Barrier(WRITERS)

        def close(
            number: int, stream: Any, barrier: threading.Barrier = barrier, written: list[int] = written
        ) -> None:
            barrier.wait()
            try:
                stream.close()
            except Py4JJavaError as error:
                assert error.java_exception.getClass().getName() == EXISTS  # noqa: PT017 - in a thread
            else:
                written.append(number)

        threads = [threading.Thread(target=close, args=pair) for pair in enumerate(streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(written) == 1


def test_a_cancelled_write_leaves_nothing(files: Files, bucket: Path) -> None:
    stream = files.begin("7", "plan")
    stream.cancel()
    stream.close()
    assert not (bucket / "7").exists()


# -- state, which a batch that runs again writes again ------------------------------------------------------------


@pytest.fixture
def record(session: SparkSession, s3: S3Server, request: pytest.FixtureRequest) -> Path:
    """The owner record of the files of `older`; it names them first."""
    path = f"files/{request.node.originalname}/_1.mainstem-owner.json"
    session.conf.set(RECORD, f"s3a://{path}")
    session.conf.set(TOKEN, "older")
    file = s3.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    own(file, "older")
    return file


def own(record: Path, token: str) -> None:
    record.write_text(f'{{"token": "{token}", "description": "{token}"}}'.ljust(1023) + "\n")


def newer(session: SparkSession, folder: str) -> Files:
    """The files of the next driver."""
    next_session = session.newSession()
    next_session.conf.set(RECORD, session.conf.get(RECORD) or "")
    next_session.conf.set(TOKEN, "newer")
    return Files(next_session, folder)


def test_state_costs_no_request_beyond_its_put(record: Path, files: Files, proxy: S3Proxy) -> None:
    """One PUT for each new file; a file that exists costs two PUTs, its metadata and the owner record."""
    requests = proxy.requests
    requests.clear()
    files.write("1.delta", "state", overwrite=True)
    first = [method for method, _ in requests]
    requests.clear()
    files.write("1.delta", "again", overwrite=True)
    again = [method for method, _ in requests]
    print(first, again)
    assert first == ["PUT"]
    assert sorted(again) == ["GET", "HEAD", "PUT", "PUT"]


def test_an_older_driver_creates_no_plan(record: Path, files: Files, bucket: Path) -> None:
    plan = files.begin("7", "older")
    own(record, "newer")
    with pytest.raises(Py4JJavaError, match="MAINSTEM_CHECKPOINT_OWNER"):
        plan.close()
    assert not (bucket / "7").exists()


def test_an_older_driver_replaces_no_state_of_the_newer(
    session: SparkSession, record: Path, files: Files, bucket: Path
) -> None:
    older = files.begin("1.delta", "older", overwrite=True)
    own(record, "newer")
    newer(session, files.folder).write("1.delta", "newer", overwrite=True)
    with pytest.raises(Py4JJavaError, match="MAINSTEM_CHECKPOINT_OWNER"):
        older.close()
    assert (bucket / "1.delta").read_text() == "newer"


def test_a_newer_driver_replaces_state_that_the_older_created_late(
    session: SparkSession, record: Path, files: Files, bucket: Path
) -> None:
    own(record, "newer")
    written = newer(session, files.folder).begin("1.delta", "newer", overwrite=True)
    files.write("1.delta", "older", overwrite=True)  # as if it had been written before the takeover
    written.close()
    assert (bucket / "1.delta").read_text() == "newer"


def test_a_replacement_that_is_overtaken_on_its_way_is_refused(
    session: SparkSession, record: Path, files: Files, bucket: Path, proxy: S3Proxy
) -> None:
    """The older driver has passed the check; its request arrives after the newer driver's."""
    files.write("1.delta", "before", overwrite=True)
    held = proxy.fail("/1[.]delta", "hold", 2)  # the creation that the store refuses, and the replacement
    errors: list[Py4JJavaError] = []

    def replace() -> None:
        try:
            files.write("1.delta", "older", overwrite=True)
        except Py4JJavaError as error:
            errors.append(error)

    thread = threading.Thread(target=replace)
    thread.start()
    within(30, "the creation is on its way", lambda: len(held.hits) == 1)
    held.let_one_go_on()
    within(30, "the replacement is on its way", lambda: len(held.hits) == 2)
    own(record, "newer")
    newer(session, files.folder).write("1.delta", "newer", overwrite=True)
    held.let_one_go_on()
    thread.join(60)
    assert len(errors) == 1
    assert "MAINSTEM_CHECKPOINT_OWNER" in str(errors[0])
    assert (bucket / "1.delta").read_text() == "newer"


def test_large_state_is_written_from_a_temporary_file(
    files: Files, bucket: Path, tmp_path: Path, record: Path
) -> None:
    text = "0123456789abcdef" * 200_000
    files.write("1.snapshot", text, overwrite=True)
    files.write("1.snapshot", text[16:], overwrite=True)
    assert (bucket / "1.snapshot").stat().st_size == len(text) - 16


def test_state_is_replaced_on_a_store_without_if_match(
    record: Path, files: Files, bucket: Path, proxy: S3Proxy
) -> None:
    proxy.fail("/1[.]delta", "no-if-match")
    files.write("1.delta", "state", overwrite=True)
    files.write("1.delta", "again", overwrite=True)
    assert (bucket / "1.delta").read_text() == "again"


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_older_driver_writes_no_local_file(
    session: SparkSession, record: Path, tmp_path: Path, overwrite: bool
) -> None:
    files = Files(session, str(tmp_path / "state"))
    stream = files.begin("7", "older", overwrite=overwrite)
    own(record, "newer")
    with pytest.raises(Py4JJavaError, match="MAINSTEM_CHECKPOINT_OWNER"):
        stream.close()
    assert not (tmp_path / "state" / "7").exists()


def test_a_local_directory_uses_rename(session: SparkSession, tmp_path: Path) -> None:
    files = Files(session, str(tmp_path / "offsets"))
    files.write("7", "plan")
    assert (tmp_path / "offsets" / "7").read_text() == "plan"
    with pytest.raises(Py4JJavaError) as refused:
        files.write("7", "plan")
    assert refused.value.java_exception.getClass().getName() == EXISTS
