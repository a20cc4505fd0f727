"""The changed documents that the operator hands to a running driver, as files of a ConfigMap.

The kubelet replaces the file. Its name has the driver start number, so a file for an earlier driver is ignored.
"""

from pathlib import Path

from mainstem import logs, reasons
from mainstem.errors import NotReady, Problem
from mainstem.language.document import Document, read
from mainstem.names import update_key
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.status_report import RefusedRevision


class Updates:
    """The document that the operator wants the running driver to apply.

    Args:
        folder: the folder of the document.
        attempt: the driver start number.
        driver: takes the revision that runs, or why one was refused.
    """

    def __init__(self, folder: Path, attempt: int, driver: DriverState) -> None:
        self._folder, self._attempt, self._driver = folder, attempt, driver
        self._revision = driver.revision

    def look(self) -> str | None:
        """The revision of the file for this driver start; None if there is none."""
        pattern = update_key(self._attempt, "*")
        prefix, suffix = pattern.split("*")
        names = [file.name for file in self._folder.glob(pattern)]
        return names[0].removeprefix(prefix).removesuffix(suffix) if len(names) == 1 else None

    def read(self) -> Document:
        """The document of the file.

        Raises:
            SpecInvalid: it is invalid by the rules of this version.
            NotReady: `FileNotReadable`: the kubelet replaces it now.
        """
        revision = self.look()
        if revision is None:
            raise NotReady("the kubelet replaces the document", reason=reasons.FILE_NOT_READABLE)
        self._revision = revision
        self._driver.begin_update()
        return read(self._folder / update_key(self._attempt, revision))

    def render(self, problem: Problem) -> str:
        """The problem with its field: nobody has the pod's file."""
        return problem.named()

    def applied(self) -> None:
        """Report the revision as the one that runs."""
        self._driver.end_update(self._revision)

    def refused(self, reason: reasons.Reason, message: str, *, retried: bool) -> None:
        """Report why the revision does not run."""
        refused = RefusedRevision(self._revision, reason, logs.redact(message), retried)
        self._driver.end_update(refused=refused)
