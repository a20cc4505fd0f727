"""Container images of Mainstem and of what its tests run beside it in a cluster, built by buildah without a registry.

`build("app")` returns an image as a folder, whose archives suit `ctr images import` and `kind load image-archive`. It is kept
in the cache under a hash of all that goes into it; a change of Mainstem's own source makes the last layers anew and nothing
else. Nothing of the host's own container storage is read or written.
"""

from harness.images.derived import derive
from harness.images.image import Image
from harness.images.recipes import NAMES, build


__all__ = ["NAMES", "Image", "build", "derive"]
