"""`make demo`: write files of flights one after the other, run the pipeline over them, and check the result.

All files of the demo are below `build/demo/`. A second run has no new files to read, and changes nothing.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lake
import page
import replay
import report
import year


ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = "k8s/samples/flights-files.yaml"
FOLDER = Path("build/demo")
INPUT = FOLDER / "input" / "flights"
REFERENCE = FOLDER / "input" / "reference"
LAKE = FOLDER / "lake"
RUN_REPORT = FOLDER / "run.json"
PAGE = FOLDER / "delays.html"
COMMAND = ["run", DOCUMENT, "--stop-when-idle", "5 seconds", "--report", str(ROOT / RUN_REPORT)]
PAUSE = 0.7
"""Seconds between two files: faster than the pipeline reads them, and slow enough to show that files arrive."""


def main() -> int:
    """Run the demo. The exit code is 0 for a correct lake, 1 for a wrong lake, otherwise that of `mainstem run`."""
    begun = time.monotonic()
    replay.write_reference(ROOT / REFERENCE)
    (ROOT / INPUT).mkdir(parents=True, exist_ok=True)
    (ROOT / RUN_REPORT).unlink(missing_ok=True)
    missing = replay.missing_files(ROOT / INPUT)
    _say(
        f"Writing {len(missing)} of {len(replay.file_names())} files of flights into {INPUT}/, while this pipeline runs:"
    )
    code = _replay_and_run(missing)
    if code:
        _complain(
            f"`mainstem run {DOCUMENT}` ended with exit code {code}, so the demo does not check the lake"
        )
        return code
    return _check_lake(time.monotonic() - begun)


def _replay_and_run(missing: list[str]) -> int:
    """Write the first file, start the pipeline, and write the others while it reads."""
    stop = threading.Event()
    flights = replay.departures() if missing else {}

    def write(name: str) -> None:
        replay.write_file(ROOT / INPUT, name, replay.encode(name, flights[name]))

    def write_others() -> None:
        for name in missing[1:]:
            if stop.wait(PAUSE):
                return
            write(name)

    for name in missing[:1]:
        write(name)
    _say(f"mainstem {' '.join(COMMAND[:4])} ...\n")
    process = subprocess.Popen([sys.executable, "-m", "mainstem", *COMMAND], cwd=ROOT)
    signal.signal(signal.SIGTERM, lambda *_: _terminate(process))
    writer = threading.Thread(target=write_others, name="replay", daemon=True)
    writer.start()
    try:
        return _wait(process)
    finally:
        stop.set()
        writer.join()


def _terminate(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    raise KeyboardInterrupt


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the pipeline and return its exit code. Ctrl-C reaches the pipeline too, which then drains."""
    interrupted = False
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            interrupted = True
        else:
            return 130 if interrupted else code


def _check_lake(seconds: float) -> int:
    """Print the totals, draw the page, and compare with the expected totals."""
    run = json.loads((ROOT / RUN_REPORT).read_text(encoding="utf-8"))
    try:
        findings = report.count(ROOT / INPUT, ROOT / LAKE)
    except lake.UnreadableTable as error:
        _complain(str(error))
        return 1
    print(f"\nThis run: {report.run_line(run)}; {seconds:.0f} s")
    print(f"\nThe input and the tables of the lake\n{report.table(findings)}")
    wrong = report.differences(findings) + _late(run)
    if wrong:
        _complain("these counts are wrong:\n  " + "\n  ".join(wrong))
        _complain(f"to start again from nothing: rm -r {FOLDER}")
        return 1
    (ROOT / PAGE).write_text(page.build(year.read(ROOT / LAKE), findings), encoding="utf-8")
    print("Every count is as expected.")
    print(_paths())
    return 0


def _late(run: Mapping[str, Any]) -> list[str]:
    dropped = report.dropped(run)
    return [f"late rows dropped: {dropped:,}, expected 0"] if dropped else []


def _paths() -> str:
    paths = {
        PAGE: "a page about the delays of the year: open it in a browser",
        LAKE / "archive": "the flights with airline and airport, in Parquet",
        LAKE / "carrier_days": "the flights of each carrier and day, in Delta",
        LAKE / "delays": "the delays of each airport and day, in Delta",
        LAKE / "dead_letters": "the malformed records, in Delta",
        Path(DOCUMENT): "the document of the pipeline",
    }
    rows = "\n".join(f"  {path!s:<32}{label}" for path, label in paths.items())
    return f"\nWhat to look at\n{rows}\n\nTo start again from nothing: rm -r {FOLDER}"


def _say(text: str) -> None:
    print(text, flush=True)


def _complain(text: str) -> None:
    print(f"demo: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
