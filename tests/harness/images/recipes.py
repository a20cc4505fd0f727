"""What goes into each image, and how it is made."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO

from harness import gotools, kafkajars
from harness.cache import Built, build_once, cache_root, complete, content_hash, keep_newest
from harness.errors import HarnessError
from harness.images import base, layouts, store
from harness.images.image import Image


ROOT = Path(__file__).parents[3]
_HERE = Path(__file__).parent
KEPT = 2  # folders and images of one name: this one, and the one before
_ARCHIVES = "localhost/mainstem-archive"
_JARS = ROOT / "app/jars/src/mainstem_jars/jars"


def build(name: str) -> Image:
    """Return the image `app`, `operator`, `kafka` or `s3`; build it unless it is cached.

    :raises HarnessError: when a tool is missing, or the build fails: the message carries the end of its log then.
    """
    inputs, fill, repository = _RECIPES[name]
    key = content_hash(layouts.FORM, base.build().path.name, *_named(inputs()))
    reference = f"localhost/{repository}:{key}"

    def make(target: Path, log: IO[str]) -> None:
        with store.opened(log) as images:
            fill(images, target / "context", reference)
            shutil.rmtree(target / "context")
            save(images, reference, target)
            images.keep(f"localhost/{repository}", KEPT)

    return kept(reference, build_once(f"images/{name}", key, make))


def save(images: store.Store, reference: str, target: Path) -> None:
    """Write an image into a folder of the cache that is being built."""
    earlier = (path / "layout" for path in complete(target.parent))
    layouts.begin(target / "layout", next(filter(Path.exists, earlier), None))
    images.save(reference, target / "layout")
    layouts.finish(target / "layout", reference)


def kept(reference: str, built: Built) -> Image:
    """The image that `save` wrote into a folder of the cache; older ones are removed."""
    keep_newest(built.path, KEPT)
    layout = built.path / "layout"
    return Image(reference, layout, layouts.size(layout), built.cached)


def _named(files: Iterable[Path]) -> Iterable[str | Path]:
    for file in sorted(files):
        yield os.path.relpath(file, ROOT)
        yield file


def _sources(*members: str) -> list[Path]:
    """The files that the wheels of the given members are made of, and those of the image itself."""
    files = [
        ROOT / "Dockerfile",
        ROOT / "requirements-app.lock",
        ROOT / "requirements-operator.lock",
        ROOT / "app/jars/pom.xml",
    ]
    for member in members:
        files += [ROOT / member / "pyproject.toml", ROOT / member / "README.md"]
        files += [
            p
            for p in (ROOT / member / "src").rglob("*")
            if p.is_file() and "__pycache__" not in p.parts and p.suffix != ".jar"
        ]
    return files


def _ours(target: str, members: tuple[str, ...]) -> Callable[[store.Store, Path, str], None]:
    def fill(images: store.Store, context: Path, reference: str) -> None:
        _ingredients(context, members)
        _build(images, context, reference, target)

    return fill


def _app(images: store.Store, context: Path, reference: str) -> None:
    # An image of its own has the archive of classes, a minute's work: it fits until the jars are others.
    archive = f"{_ARCHIVES}:{content_hash(base.build().path.name, *_named(_below_the_archive()))}"
    _ingredients(context, ("app/jars", "app"))
    if not images.has(archive):
        _build(images, context, archive, "app-archive")
    _build(images, context, reference, "app", {"archive": archive})
    images.keep(_ARCHIVES, KEPT)


def _below_the_archive() -> list[Path]:
    return [
        *(ROOT / name for name in ("Dockerfile", "requirements-app.lock", "app/jars/pom.xml")),
        *(ROOT / "app/jars/src/main/java").rglob("*.java"),
        *(
            ROOT / "app/src/mainstem/runtime/spark" / name
            for name in ("class_data_sharing.py", "command_line.py")
        ),
    ]


def _ingredients(context: Path, members: tuple[str, ...]) -> None:
    (context / "dist").mkdir(parents=True)
    for member in members:
        _wheel(member, context / "dist")
    for name in ("Dockerfile", "requirements-app.lock", "requirements-operator.lock"):
        shutil.copy(ROOT / name, context)


def _wheel(member: str, target: Path) -> None:
    if member == "app/jars" and not any(_JARS.glob("*.jar")):
        raise HarnessError("the wheel of the JVM dependencies would be empty: run make jars")
    uv = shutil.which("uv") or str(cache_root() / "bin" / "uv")
    done = subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", target, ROOT / member], capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode:
        raise HarnessError(f"cannot build the wheel of {member}:\n{done.stderr}")


def _kafka(images: store.Store, context: Path, reference: str) -> None:
    # On the app's own Java layer: a node that has one image needs only the jars of the other.
    _ours("java", ())(images, context / "java", "localhost/mainstem-java:latest")
    shutil.copytree(kafkajars.build().path, context / "libs")
    shutil.copytree(_HERE / "kafka", context, dirs_exist_ok=True)
    shutil.rmtree(context / "java")
    stamp(context)
    images.build(context, reference, {"JAVA": "localhost/mainstem-java:latest"})


def _s3(images: store.Store, context: Path, reference: str) -> None:
    shutil.copytree(_HERE / "s3", context)
    shutil.copy(gotools.VERSITYGW.build().path / "versitygw", context)
    stamp(context)
    images.build(context, reference, {})


def _build(
    images: store.Store, context: Path, reference: str, target: str, stages: Mapping[str, str] | None = None
) -> None:
    base_image = base.build().path
    known = f"localhost/mainstem-base:{base_image.name}"
    if not images.has(known):
        bottom = context / "base"
        bottom.mkdir()
        (bottom / "rootfs.tar").hardlink_to(base_image / "rootfs.tar")
        (bottom / "Dockerfile").write_text("FROM scratch\nADD rootfs.tar /\n")
        images.build(bottom, known, {})
        shutil.rmtree(bottom)
    stamp(context)
    images.build(context, reference, {"BASE": known}, target, stages)


def stamp(context: Path) -> None:
    """Give all files one time: buildah takes a layer for another one when a file's time differs."""
    for path in (context, *context.rglob("*")):
        os.utime(path, (1_500_000_000, 1_500_000_000))


def _files(folder: str) -> list[Path]:
    return [p for p in (_HERE / folder).iterdir() if p.is_file()]


_Recipe = tuple[Callable[[], list[Path]], Callable[[store.Store, Path, str], None], str]
_RECIPES: dict[str, _Recipe] = {
    "app": (lambda: _sources("app", "app/jars"), _app, "mainstem-app"),
    "operator": (
        lambda: _sources("app", "operator"),
        _ours("operator", ("app", "operator")),
        "mainstem-operator",
    ),
    "kafka": (
        lambda: [*_files("kafka"), ROOT / "Dockerfile", _HERE.parent / "kafka/pom.xml"],
        _kafka,
        "mainstem-test-kafka",
    ),
    "s3": (lambda: [*_files("s3"), *gotools.VERSITYGW.sources], _s3, "mainstem-test-s3"),
}
NAMES = tuple(_RECIPES)
