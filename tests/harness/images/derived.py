"""An image made from the app's, as a user makes one: by a Dockerfile whose lines name jars and code."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from harness.cache import build_once, content_hash
from harness.images import layouts, store
from harness.images.image import Image
from harness.images.recipes import KEPT, kept, save, stamp


_REPOSITORY = "localhost/mainstem-test-derived"


def derive(app: Image, lines: Sequence[str], files: Mapping[str, Path]) -> Image:
    """Return an image that a Dockerfile of `FROM` the app's and further lines makes; build it unless it is cached.

    Args:
        app: the image to start from.
        lines: what follows `FROM`.
        files: what lies beside the Dockerfile, by its place there.

    Raises:
        HarnessError: the build fails; the message carries the end of its log.
    """
    text = "\n".join([f"FROM {app.reference}", *lines, ""])
    key = content_hash(
        layouts.FORM, text, *(part for place in sorted(files) for part in (place, files[place]))
    )
    reference = f"{_REPOSITORY}:{key}"

    def make(target: Path, log: IO[str]) -> None:
        context = target / "context"
        _fill(context, text, files)
        with store.opened(log) as images:
            if not images.has(app.reference):  # its layers may be forgotten where its folder is still kept
                images.read(app.reference, app.layout)
            images.build(context, reference, {})
            save(images, reference, target)
            images.keep(_REPOSITORY, KEPT)
        shutil.rmtree(context)

    return kept(reference, build_once("images/derived", key, make))


def _fill(context: Path, text: str, files: Mapping[str, Path]) -> None:
    for place, file in files.items():
        (context / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, context / place)
    (context / "Dockerfile").write_text(text, encoding="utf-8")
    stamp(context)
