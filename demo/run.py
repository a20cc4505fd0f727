"""`make demo`: let files of flights appear, run the pipeline over them, and check the result.

Everything lies under `build/demo/`. A second run finds all files there and all of them read, and changes nothing.
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
PLACE = Path("build/demo")
INPUT = PLACE / "input" / "flights"
REFERENCE = PLACE / "input" / "reference"
LAKE = PLACE / "lake"
RUN_REPORT = PLACE / "run.json"
PAGE = PLACE / "delays.html"
COMMAND = ["run", DOCUMENT, "--stop-when-idle", "5 seconds", "--report", str(ROOT / RUN_REPORT)]
PAUSE = 0.7
"""Seconds between two files: faster than the pipeline reads them, slow enough to be seen to arrive."""


def main() -> int:
    """The exit code: 0 for a correct lake, 1 for a wrong one, else that of `mainstem run`."""
    begun = time.monotonic()
    replay.write_reference(ROOT / REFERENCE)
    (ROOT / INPUT).mkdir(parents=True, exist_ok=True)
    (ROOT / RUN_REPORT).unlink(missing_ok=True)
    missing = replay.missing_files(ROOT / INPUT)
    _say(f"{len(missing)} of {len(replay.file_names())} files of flights to write, into {INPUT}/")
    code = _replay_and_run(missing)
    if code:
        _complain(f"`mainstem run {DOCUMENT}` ended with exit code {code}; the lake is not looked at")
        return code
    return _look(time.monotonic() - begun)


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
    """The exit code; Ctrl-C reaches the pipeline too, which drains, and is waited for."""
    interrupted = False
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            interrupted = True
        else:
            return 130 if interrupted else code


def _look(seconds: float) -> int:
    """Print the totals, draw the page, and compare with the expected totals."""
    run = json.loads((ROOT / RUN_REPORT).read_text(encoding="utf-8"))
    try:
        findings = report.count(ROOT / INPUT, ROOT / LAKE)
    except lake.UnreadableTable as error:
        _complain(str(error))
        return 1
    print(f"\nThis run: {report.run_line(run)}; {seconds:.0f} s")
    print(f"\nThe lake\n{report.table(findings)}")
    wrong = report.differences(findings) + _late(run)
    if wrong:
        _complain("the lake is not as it must be:\n  " + "\n  ".join(wrong))
        _complain(f"to begin anew: rm -r {PLACE}")
        return 1
    (ROOT / PAGE).write_text(page.build(year.read(ROOT / LAKE), findings), encoding="utf-8")
    print(_places())
    return 0


def _late(run: Mapping[str, Any]) -> list[str]:
    dropped = report.dropped(run)
    return [f"dropped by the watermark: {dropped:,}, expected 0"] if dropped else []


def _places() -> str:
    places = {
        PAGE: "delays over the year: open it in a browser",
        LAKE / "archive": "Parquet",
        LAKE / "carrier_days": "Delta",
        LAKE / "delays": "Delta",
        LAKE / "dead_letters": "Delta",
        Path(DOCUMENT): "the pipeline",
    }
    rows = "\n".join(f"  {place!s:<32}{label}" for place, label in places.items())
    return f"\nWhere it lies\n{rows}\nTo look further: any reader of Parquet and Delta. To begin anew: rm -r {PLACE}"


def _say(text: str) -> None:
    print(text, flush=True)


def _complain(text: str) -> None:
    print(f"demo: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
