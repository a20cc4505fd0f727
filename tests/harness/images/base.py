"""The base of every image here: Debian bookworm from its packages, with what this host needs to reach its registries.

That is the host's extra certificates, its apt mirrors and proxies and pip's index. The project's Dockerfile knows of none
of it: it builds on `debian:bookworm-slim` too.
"""

import configparser
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from harness.cache import Built, build_once, content_hash
from harness.process import in_own_mounts


_RECIPE = "1"  # raise it when the recipe changes
_CERTIFICATES = Path("/usr/local/share/ca-certificates")
_PIP_FILES = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
_PIP_KEYS = ("index-url", "extra-index-url", "trusted-host")
_APT_KEYS = re.compile(r"^Acquire::(?:https?::Proxy|Check-Valid-Until|Check-Date)\b.*", re.MULTILINE)


def build() -> Built:
    """Return the folder with `rootfs.tar`: 137 MB, made by debootstrap unless it is cached.

    :raises HarnessError: when debootstrap fails.
    """
    certificates = sorted(_CERTIFICATES.glob("**/*.crt"))
    key = content_hash(_RECIPE, _sources(), _apt(), _pip(), *certificates)
    return build_once("images/base", key, _make)


def _make(target: Path, log: IO[str]) -> None:
    root = target / "rootfs"
    sources = _sources()
    mirror = sources.split()[1:2]  # none: debootstrap's own

    def run(*command: str | Path) -> None:
        subprocess.run([*command], stdout=log, stderr=log, check=True)

    debootstrap = ("debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm")
    run(*in_own_mounts(), *debootstrap, root, *mirror)
    for certificate in _CERTIFICATES.glob("**/*.crt"):
        (root / _CERTIFICATES.relative_to("/") / certificate.name).write_bytes(certificate.read_bytes())
    run("chroot", root, "update-ca-certificates")
    if sources:
        (root / "etc/apt/sources.list").write_text(sources)
    (root / "etc/apt/apt.conf.d/99host").write_text(_apt())
    (root / "etc/pip.conf").write_text(_pip())
    for left in ("var/cache/apt/archives", "var/cache/apt", "var/lib/apt/lists", "var/log"):
        run("find", root / left, "-type", "f", "-delete")
    run("tar", "-C", root, "--numeric-owner", "-cf", target / "rootfs.tar", ".")
    run("rm", "-rf", root)


def _sources() -> str:
    """The host's mirrors of bookworm; none where it is no bookworm: debootstrap then writes down the one that it took."""
    listed = [
        "apt-get",
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ]
    files = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.splitlines()
    kept = sorted(
        {
            line.removesuffix(" main").replace("/ ", " ")
            for line in files
            if re.search(r" bookworm\S* main$", line)
        }
    )
    plain = [line for line in kept if line.endswith(" bookworm")]
    lines = [*plain, *(line for line in kept if line not in plain)] if plain else []
    return "".join(f"deb {line} main\n" for line in lines)


def _apt() -> str:
    dumped = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
    return "".join(f"{line}\n" for line in _APT_KEYS.findall(dumped))


def _pip() -> str:
    # Debian's bundle holds the host's certificates; pip would otherwise ask its own.
    settings = {"cert": "/etc/ssl/certs/ca-certificates.crt", **dict(_pip_settings())}
    return "[global]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items())


def _pip_settings() -> Iterator[tuple[str, str]]:
    files = configparser.ConfigParser(interpolation=None, strict=False)
    files.read(Path(name).expanduser() for name in _PIP_FILES)
    for key in _PIP_KEYS:
        value = os.environ.get(f"PIP_{key.upper().replace('-', '_')}") or files.get(
            "global", key, fallback=None
        )
        if value:
            yield key, value
