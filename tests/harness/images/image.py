from pathlib import Path
from typing import NamedTuple


class Image(NamedTuple):
    """A built image.

    Attributes:
        reference: the name that pods use, with a tag that is a hash of the image's content.
        layout: a folder, an OCI image layout; its layers are not compressed.
        unpacked: bytes of all layers, the base included.
        cached: it was there already.
    """

    reference: str
    layout: Path
    unpacked: int
    cached: bool
