from pathlib import PurePosixPath
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem.filesystem import FileInfo
from mainstem.runtime.checkpoint.orphan_files import select_unlogged


UUID = "0b51b1a4-6f0b-4a5a-9d3a-0a2c8b7d6e5f"
NAME = f"part-00000-{UUID}-c000.snappy.parquet"
SINCE = 1_000


def new(path: str) -> FileInfo:
    return FileInfo(path, SINCE)


@pytest.mark.parametrize(
    ("listed", "logged"),
    [
        (f"file:/data/out/{NAME}", f"file:///data/out/{NAME}"),
        (f"file:///data/out/{NAME}", f"file:/data/out/{NAME}"),
        (f"s3a://lake/out/{NAME}", f"s3a://lake/out/{NAME}"),
        (f"file:/data/out/shop=a b/{NAME}", f"file:///data/out/shop=a%20b/{NAME}"),
        (f"file:/data/out/shop=a%20b/{NAME}", f"file:///data/out/shop=a b/{NAME}"),
        # The folder of the value "5%" is called 5%25; a URI escapes that once more, in the listing as in the log.
        (f"file:/data/out/shop=5%2525/{NAME}", f"file:///data/out/shop=5%2525/{NAME}"),
        (f"file:/data/out/shop=Z%C3%BCrich/{NAME}", f"file:/data/out/shop=Zürich/{NAME}"),
        (f"file:/data/out/at=05%253A00/{NAME}", f"file:///data/out/at=05%253A00/{NAME}"),
    ],
)
def test_a_logged_file_is_kept_in_every_spelling(listed: str, logged: str) -> None:
    assert select_unlogged([new(listed)], [logged], SINCE, "file:/data/out") == []


@pytest.mark.parametrize(
    "name",
    [
        NAME,
        f"part-00007-{UUID}-c001.parquet",
        f"part-00007-{UUID}-c000.zstd.parquet",
        f"part-00007-{UUID}.c000.snappy.parquet",
        f"part-123456-{UUID}-c1000.gz.parquet",
        f"shop=a/day=2024-03-01/part-00000-{UUID}-c000.snappy.parquet",
    ],
)
def test_an_unlogged_file_of_spark_is_removed(name: str) -> None:
    path = f"file:/data/out/{name}"
    assert select_unlogged([new(path)], [], SINCE, "file:/data/out") == [path]


@pytest.mark.parametrize(
    "name",
    [
        "data.parquet",
        "part-0.parquet",
        "part-00000.snappy.parquet",
        f"part-00000-{UUID}-c000.snappy.parquet.crc",
        f"part-00000-{UUID}-c000.snappy.parquet.tmp",
        f"part-00000-{UUID}-c000.snappy.orc",
        f"part-00000-{UUID.upper()}-c000.snappy.parquet",
        f"my-part-00000-{UUID}-c000.snappy.parquet",
        f"part-00000-{UUID}-c000/other.parquet",
        "_spark_metadata/7",
        "_SUCCESS",
        "part-00000-abc-c000.snappy.parquet",
    ],
)
def test_a_file_that_spark_did_not_name_is_kept(name: str) -> None:
    assert select_unlogged([new(f"file:/data/out/{name}")], [], SINCE, "file:/data/out") == []


def test_a_file_older_than_the_batch_is_kept() -> None:
    files = [
        FileInfo(f"file:/o/part-{n:05d}-{UUID}-c000.parquet", SINCE + age) for n, age in enumerate((-1, 0, 1))
    ]
    assert select_unlogged(files, [], SINCE, "file:/o") == [files[1].path, files[2].path]


@pytest.mark.parametrize("log", ["_delta_log/00000000000000000000.json", "_spark_metadata/0"])
def test_a_table_in_a_subdirectory_is_kept(log: str) -> None:
    files = [
        new(f"s3a://lake/out/{name}") for name in (NAME, f"late/{NAME}", f"late/x=1/{NAME}", f"late/{log}")
    ]
    assert select_unlogged(files, [], SINCE, "s3a://lake/out") == [f"s3a://lake/out/{NAME}"]


def test_the_log_of_the_directory_itself_protects_nothing() -> None:
    files = [new(f"file:/data/out/{name}") for name in (NAME, "_spark_metadata/0")]
    assert select_unlogged(files, [], SINCE, "file:/data/out/") == [f"file:/data/out/{NAME}"]


NAMES = st.one_of(
    st.builds(
        "part-{:05d}-{}{}c{:03d}{}.parquet".format,
        st.integers(0, 10**6),
        st.uuids(),
        st.sampled_from("-."),
        st.integers(0, 2000),
        st.sampled_from(["", ".snappy", ".zstd"]),
    ),
    st.from_regex(r"[\w.=%-]{1,40}(\.parquet)?", fullmatch=True),
)
FOLDERS = st.lists(
    st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
        lambda s: s not in (".", "..")
    ),
    max_size=2,
)  # fmt: skip
ROOTS = st.sampled_from([("file:/data/", "file:///data/"), ("s3a://lake/", "s3a://lake/")])


@given(
    ROOTS,
    st.lists(st.tuples(FOLDERS, NAMES, st.integers(0, 2 * SINCE), st.booleans(), st.booleans()), max_size=8),
)
def test_logged_foreign_and_old_files_are_never_removed(
    roots: tuple[str, str], files: list[tuple[list[str], str, int, bool, bool]]
) -> None:
    """Whatever is in the folder; the listing spells plain names, the log a URI's or plain ones."""
    listing, logged, kept = [], [], set()
    for folders, name, modified, in_log, escaped in files:
        inside = "/".join([*folders, name])
        path = roots[0] + (quote(inside, safe="/=") if escaped else inside)
        listing.append(FileInfo(path, modified))
        if in_log:
            logged.append(roots[1] + quote(inside, safe="/="))
        if in_log or modified < SINCE or not name.startswith("part-"):
            kept.add(path)
    removed = select_unlogged(listing, logged, SINCE, roots[0].rstrip("/"))
    assert not kept & set(removed)
    assert set(removed) <= {file.path for file in listing}
    for path in removed:
        stem = PurePosixPath(path).name
        assert stem.startswith("part-")
        assert stem.endswith(".parquet")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("orc", f"part-00000-{UUID}-c000.snappy.orc"),
        ("orc", f"part-00000-{UUID}.c000.zlib.orc"),
        ("csv", f"part-00000-{UUID}-c000.csv"),
        ("csv", f"shop=a/part-00000-{UUID}.c000.csv.gz"),
        ("json", f"part-00000-{UUID}-c000.json"),
        ("json", f"part-00000-{UUID}-c000.json.bz2"),
        ("text", f"part-00000-{UUID}-c000.txt"),
        ("text", f"part-00000-{UUID}-c000.txt.deflate"),
    ],
)
def test_each_format_has_its_file_suffixes(kind: str, name: str) -> None:
    path = f"file:/data/out/{name}"
    assert select_unlogged([new(path)], [], SINCE, "file:/data/out", kind) == [path]
    for other in {"parquet", "orc", "csv", "json", "text"} - {kind}:
        assert select_unlogged([new(path)], [], SINCE, "file:/data/out", other) == []
    for ending in (".crc", ".tmp"):
        assert select_unlogged([new(f"{path}{ending}")], [], SINCE, "file:/data/out", kind) == []
