"""Build images in advance: `python -m harness.images [app operator kafka s3]`, all by default; prints a table."""

import argparse
import sys
import time
from collections.abc import Sequence

from harness.errors import HarnessError
from harness.images import NAMES, build


def main(argv: Sequence[str] | None = None) -> int:
    """Build the named images one after the other; returns 1 when one failed."""
    parser = argparse.ArgumentParser(prog="python -m harness.images", description=__doc__)
    parser.add_argument("images", nargs="*", metavar="image", help=f"one of {', '.join(NAMES)}")
    names: list[str] = parser.parse_args(argv).images or list(NAMES)
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"no such image: {', '.join(unknown)}")
    sys.stdout.write(
        f"{'image':9} {'state':6} {'seconds':>7} {'unpacked MB':>11} {'archive MB':>10}  reference\n"
    )
    return max([_report(name) for name in names])


def _report(name: str) -> int:
    start = time.monotonic()
    try:
        image = build(name)
    except HarnessError as error:
        sys.stderr.write(f"{name:9} failed\n{error}\n")
        return 1
    state = "cached" if image.cached else "built"
    size = image.archive.stat().st_size
    sys.stdout.write(
        f"{name:9} {state:6} {time.monotonic() - start:7.1f} {image.unpacked / 1e6:11.0f} {size / 1e6:10.0f}  {image.reference}\n"
    )
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
