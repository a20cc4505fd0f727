"""Servers that are built from Go modules: each folder under `go/` pins one, with every dependency, by go.mod and go.sum."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from harness.cache import Built, build_once, cache_root, content_hash
from harness.errors import HarnessError
from harness.process import die_with_parent


SPARING: Final = {"GOGC": "400"}
"""Environment of Go programs that live no longer than a test run: with memory to spare, they collect garbage rarely."""
_MODULES = Path(__file__).parent / "go"
_GO_MIN = (1, 26)


@dataclass(frozen=True)
class GoTool:
    """Commands of one Go module, built together with the same flags into one folder of the cache.

    Attributes:
        name: of that folder, and of the module's folder under `go/` unless `module` names another.
        requires: the module path whose version go.mod pins; none where the program is all ours.
        packages: what to build.
        version_variable: of the program; gets the version at link time.
        module: tools of one module share what is compiled for it, above all the libraries of Kubernetes.
    """

    name: str
    requires: str
    packages: tuple[str, ...]
    version_variable: str = ""
    module: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the module's go.mod."""
        return _MODULES / (self.module or self.name)

    @property
    def sources(self) -> list[Path]:
        """The files of the project's own that the executables are made of."""
        own = [self.folder / package for package in self.packages if package.startswith(".")]
        return [
            self.folder / "go.mod",
            *self.folder.glob("go.sum"),
            *sorted(path for folder in own for path in folder.glob("*.go")),
        ]

    @property
    def version(self) -> str:
        """The version that go.mod requires, like `v1.8.0`; `own` where the program is all ours."""
        if not self.requires:
            return "own"
        text = (self.folder / "go.mod").read_text()
        match = re.search(rf"^(?:require)?\s+{re.escape(self.requires)} (v\S+)", text, re.MULTILINE)
        if match is None:
            raise HarnessError(f"go/{self.folder.name}/go.mod does not require {self.requires}")
        return match[1]

    @property
    def ldflags(self) -> str:
        """Linker flags: no symbol tables, and the version for servers that report theirs."""
        return "-s -w" + (f" -X {self.version_variable}={self.version}" if self.version_variable else "")

    def build(self) -> Built:
        """Return the folder of the executables, named after their packages; build it unless it is cached.

        :raises HarnessError: when there is no Go toolchain, or when the build fails.
        """
        content = content_hash(platform.machine(), self.ldflags, *self.packages, *self.sources)
        return build_once(self.name, f"{self.version}-{content}", self._compile)

    def _compile(self, target: Path, log: IO[str]) -> None:
        argv = [
            *die_with_parent(),
            str(find_go()),
            "build",
            "-trimpath",
            "-gcflags=all=-dwarf=false",
            "-ldflags",
            self.ldflags,
            "-o",
            f"{target}/",
            *self.packages,
        ]
        # GOGC: the compiler spends a quarter of its time collecting garbage, with memory to spare.
        env = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOGC": "800"}
        subprocess.run(argv, cwd=self.folder, env=env, stdout=log, stderr=log, check=True)


VERSITYGW = GoTool(
    "versitygw", "github.com/versity/versitygw", ("github.com/versity/versitygw/cmd/versitygw",)
)
_KUBERNETES = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
)
ETCD = GoTool("etcd", "go.etcd.io/etcd/server/v3", (".",))
COREDNS = GoTool("coredns", "github.com/coredns/coredns", (".",))
PAUSE = GoTool("pause", "", (".",))
HELM = GoTool("helm", "helm.sh/helm/v3", ("helm.sh/helm/v3/cmd/helm",), module="kubernetes")
GITOPS = GoTool("gitops", "github.com/fluxcd/cli-utils", ("./gitops",), module="kubernetes")
KINDCONFIG = GoTool("kindconfig", "sigs.k8s.io/kind", (".",))


def kubernetes(commands: Sequence[str] = _KUBERNETES) -> GoTool:
    """Return the tool that holds the given commands of Kubernetes: names under `k8s.io/kubernetes/cmd`."""
    packages = tuple(f"k8s.io/kubernetes/cmd/{command}" for command in sorted(commands))
    return GoTool("kubernetes", "k8s.io/kubernetes", packages, "k8s.io/component-base/version.gitVersion")


def find_go() -> Path:
    """Return a Go toolchain of at least 1.26: from PATH, else from the cache, where bootstrap.sh puts one.

    :raises HarnessError: when neither has one.
    """
    on_path = shutil.which("go")
    candidates = [Path(on_path)] if on_path else []
    candidates.append(cache_root() / "bin" / "go")
    for go in candidates:
        if go.is_file() and _go_version(go) >= _GO_MIN:
            return go
    wanted = ".".join(map(str, _GO_MIN))
    raise HarnessError(f"Go {wanted} or newer is needed, on PATH or as {candidates[-1]}: run bootstrap.sh")


def _go_version(go: Path) -> tuple[int, int]:
    # GOTOOLCHAIN=local: asked otherwise, Go may fetch and name another toolchain than itself.
    env = os.environ | {"GOTOOLCHAIN": "local"}
    text = subprocess.run([go, "version"], env=env, capture_output=True, text=True, check=False).stdout
    match = re.search(r"go(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
