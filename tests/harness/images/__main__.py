"""Build images in advance: `python -m harness.images [app operator kafka s3]`; prints a table.

All of them, the default, are unpacked too for the cluster in namespaces of this machine.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from harness.cluster import kept_images
from harness.cluster.choose import provider
from harness.errors import HarnessError
from harness.images import NAMES, Image, build


def main(argv: Sequence[str] | None = None) -> int:
    """Build the named images one after the other; returns 1 when one failed."""
    parser = argparse.ArgumentParser(prog="python -m harness.images", description=__doc__)
    parser.add_argument("images", nargs="*", metavar="image", help=f"one of {', '.join(NAMES)}")
    names: list[str] = parser.parse_args(argv).images or list(NAMES)
    if unknown := sorted(set(names) - set(NAMES)):
        parser.error(f"no such image: {', '.join(unknown)}")
    sys.stdout.write(f"{'image':9} {'state':6} {'seconds':>7} {'unpacked MB':>11}  reference\n")
    images = [image for name in names if (image := _built(name)) is not None]
    if len(images) < len(names):
        return 1
    if names == list(NAMES):
        _unpack(images)
    return 0


def _built(name: str) -> Image | None:
    start = time.monotonic()
    try:
        image = build(name)
    except HarnessError as error:
        sys.stderr.write(f"{name:9} failed\n{error}\n")
        return None
    state = "cached" if image.cached else "built"
    sys.stdout.write(
        f"{name:9} {state:6} {time.monotonic() - start:7.1f} {image.unpacked / 1e6:11.0f}  {image.reference}\n"
    )
    sys.stdout.flush()
    return image


def _unpack(images: Sequence[Image]) -> None:
    """Where this fails, a cluster unpacks them itself."""
    start = time.monotonic()
    try:
        if provider() != "bare":
            return
        kept_images.keep(images)
    except HarnessError as error:
        sys.stderr.write(f"the images are not unpacked in advance: {error}\n")
        return
    sys.stdout.write(f"unpacked for the cluster: {time.monotonic() - start:.1f} s\n")


if __name__ == "__main__":
    raise SystemExit(main())
