"""The changed documents that the operator hands to a running driver, as files of a ConfigMap.

The kubelet replaces the files. Their names have the driver start number, so those for an earlier driver are ignored. A number
beside the document counts the documents that the driver has got: if an edit is undone before the driver has read it, the
revision is the one that runs, and only the number shows that the driver knows of it.
"""

from pathlib import Path

from mainstem import logs, reasons
from mainstem.errors import NotReady, Problem
from mainstem.language.document import Document, read
from mainstem.names import update_key, update_number_key
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.status_report import RefusedRevision


class Updates:
    """The document that the operator wants the running driver to apply.

    Args:
        folder: the folder of the document.
        attempt: the driver start number.
        driver: takes the revision that runs, or why one was refused, and the number of the document.
    """

    def __init__(self, folder: Path, attempt: int, driver: DriverState) -> None:
        self._folder, self._attempt, self._driver = folder, attempt, driver
        self._revision = driver.revision
        self._number = 0

    def look(self) -> str | None:
        """The revision of the file for this driver start; None if there is none.

        If it is the last one that was read, or runs from the start, its number counts as answered.
        """
        place = self._place()
        revision = self._found(place)
        if revision is not None and revision == self._revision:
            self._driver.answered = self._number = self._counted(place)
        return revision

    def read(self) -> Document:
        """The document of the file.

        Raises:
            SpecInvalid: it is invalid by the rules of this version.
            NotReady: `FileNotReadable`: the kubelet replaces it now.
        """
        place = self._place()
        revision = self._found(place)
        if revision is None:
            raise NotReady("the kubelet replaces the document", reason=reasons.FILE_NOT_READABLE)
        self._revision, self._number = revision, self._counted(place)
        self._driver.begin_update()
        return read(place / update_key(self._attempt, revision))

    def render(self, problem: Problem) -> str:
        """The problem with its field: nobody has the pod's file."""
        return problem.named()

    def applied(self) -> None:
        """Report the revision as the one that runs."""
        self._driver.end_update(self._number, self._revision)

    def refused(self, reason: reasons.Reason, message: str, *, retried: bool) -> None:
        """Report why the revision does not run."""
        refused = RefusedRevision(self._revision, reason, logs.redact(message), retried)
        self._driver.end_update(self._number, refused=refused)

    def _place(self) -> Path:
        """The folder with the files. The kubelet replaces all of them at once, by the link `..data`."""
        link = self._folder / "..data"
        return link.resolve() if link.exists() else self._folder

    def _found(self, place: Path) -> str | None:
        prefix, suffix = update_key(self._attempt, "*").split("*")
        try:
            files = [file.name for file in place.iterdir()]
        except OSError:  # the kubelet removes the folder after it has replaced the link
            return None
        names = [name for name in files if name.startswith(prefix) and name.endswith(suffix)]
        return names[0].removeprefix(prefix).removesuffix(suffix) if len(names) == 1 else None

    def _counted(self, place: Path) -> int:
        """The document's number; the last one while the kubelet replaces it, or if an older operator counts none."""
        try:
            return int((place / update_number_key(self._attempt)).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return self._number
