"""The memory of the driver's container, read from control groups of both versions."""

from pathlib import Path

from mainstem.runtime.driver.container_memory import PeakMemory, working_set


def written(folder: Path, version: int, used: int, cache: int) -> None:
    if version == 1:
        folder = folder / "memory"
        folder.mkdir(exist_ok=True)
    usage, inactive = {
        1: ("memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.current", "inactive_file"),
    }[version]
    (folder / usage).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 7\n{inactive} {cache}\nactive_file 9\n")


def test_the_working_set_is_the_use_without_the_inactive_file_cache(tmp_path: Path) -> None:
    for version in (1, 2):
        folder = tmp_path / str(version)
        folder.mkdir()
        written(folder, version, 1000, 400)
        assert working_set(folder) == 600
        written(folder, version, 1000, 1200)
        assert working_set(folder) == 0, "the two files are read one after the other"


def test_the_peak_is_the_largest_measured_working_set(tmp_path: Path) -> None:
    memory = PeakMemory(tmp_path)
    assert memory.measure() is None
    for used, peak in ((500, 500), (900, 900), (300, 900)):
        written(tmp_path, 2, used, 0)
        assert memory.measure() == peak
    (tmp_path / "memory.current").write_text("max")
    assert memory.measure() == 900


def test_this_machine_shows_the_memory_of_a_process() -> None:
    folder = Path("/sys/fs/cgroup")
    if (folder / "memory").is_dir() or (folder / "memory.current").exists():
        size = working_set(folder)
        assert size is not None
        assert size > 2**20
