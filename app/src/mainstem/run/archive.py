"""`python -m mainstem.run.archive FILE`: an archive of the classes that a driver loads, made while an image is built.

A driver that maps them in place of loading them starts in two thirds of the time. What it loads is learned from a real
run of a small pipeline, by the same command as any other. The archive fits one Java and one class path, file times
included: it is made in the very image that uses it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from mainstem.run.commandline import ARCHIVE, DUMP


_ROWS: Final = "".join(
    f'{{"id": {n}, "shop": "s{n % 3}", "time": "2013-01-0{1 + n % 9}T00:00:00Z"}}\n' for n in range(90)
)
_DOCUMENT: Final = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: warm-up}
spec:
  sources:
    - name: orders
      files: {path: input, format: text, maxFilesPerTrigger: 1}
      decode: {json: {schema: "id BIGINT, shop STRING, time TIMESTAMP"}, onBadRecord: deadLetter}
      watermark: {column: time, delay: 1 day}
    - name: shops
      static: {csv: {path: shops.csv, header: true}}
  views:
    - name: named
      sql: SELECT o.*, s.name FROM orders o LEFT JOIN shops s ON o.shop = s.shop
    - name: days
      sql: SELECT w.start AS day, shop, n FROM (SELECT window(time, '1 day') AS w, shop, count(*) AS n FROM orders GROUP BY 1, 2)
  queries:
    - name: files
      from: named
      to: [{name: parquet, parquet: {path: out/parquet}}]
      trigger: {availableNow: true}
    - name: table
      from: days
      outputMode: update
      to: [{name: delta, delta: {path: out/delta, merge: {keys: [day, shop]}}}]
      state: {partitions: 1}
      trigger: {availableNow: true}
    - name: terminal
      from: named
      to: [{name: rows, console: {}}]
      trigger: {availableNow: true}
    - name: dead-letters
      from: orders_dead_letters
      to: [{name: delta, delta: {path: out/bad}}]
      trigger: {availableNow: true}
  checkpoints: {location: out/checkpoints}
"""


def main(target: Path) -> int:
    """Run the pipeline in a folder of its own and leave the archive at `target`; returns the run's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "input").mkdir()
        for number in (1, 2):
            (place / "input" / f"{number}.json").write_text(_ROWS + "{\n", encoding="utf-8")
        (place / "shops.csv").write_text("shop,name\ns0,Bern\ns1,Thun\n", encoding="utf-8")
        (place / "warm-up.yaml").write_text(_DOCUMENT, encoding="utf-8")
        # Compiled once: twice would take longer than it ever gives back in a life of seconds.
        environment = {key: value for key, value in os.environ.items() if key != ARCHIVE}
        environment |= {DUMP: str(target), "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
        command = [sys.executable, "-m", "mainstem", "run", "warm-up.yaml", "--cores=2", "--heap=1g"]
        done = subprocess.run(command, cwd=place, env=environment, check=False)
    if done.returncode == 0 and not target.exists():
        sys.stderr.write(f"error: Java has written no archive {target}\n")
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
