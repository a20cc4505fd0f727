"""Reports the outcomes of tests: lines for a person, JUnit's XML for CI."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml


@dataclass(frozen=True)
class StepMismatch:
    """An unexpected result: the step, the subject and the difference; `reason` is set if the step ended with an error."""

    step: int
    subject: str
    difference: str
    reason: str = ""


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of a case.

    Attributes:
        file: the test file.
        line: the line at which the case begins.
        name: the case's name.
        seconds: the duration of the case.
        failures: empty if the case passed.
    """

    file: str
    line: int
    name: str
    seconds: float
    failures: tuple[StepMismatch, ...]

    @property
    def passed(self) -> bool:
        """Whether all results were as expected."""
        return not self.failures


def lines(outcome: CaseOutcome) -> str:
    """A line for the case, followed by the differences if it failed."""
    head = f"{'ok  ' if outcome.passed else 'FAIL'} {outcome.file}:{outcome.line}: {outcome.name} ({outcome.seconds:.1f} s)"
    return "\n".join([head, *(_indented(failure) for failure in outcome.failures)])


def summary(outcomes: Sequence[CaseOutcome], seconds: float) -> str:
    """The last line: the number of passed and failed cases, and the total time."""
    failed = sum(not outcome.passed for outcome in outcomes)
    return f"{len(outcomes) - failed} passed, {failed} failed in {seconds:.1f} s"


def junit(outcomes: Sequence[CaseOutcome]) -> str:
    """The outcomes as JUnit's XML, with a suite for each test file."""
    root = Xml.Element("testsuites")
    for file in dict.fromkeys(outcome.file for outcome in outcomes):
        cases = [outcome for outcome in outcomes if outcome.file == file]
        suite = Xml.SubElement(root, "testsuite", name=file, tests=str(len(cases)))
        suite.set("failures", str(sum(_kind(case) == "failure" for case in cases)))
        suite.set("errors", str(sum(_kind(case) == "error" for case in cases)))
        suite.set("time", f"{sum(case.seconds for case in cases):.3f}")
        for case in cases:
            _case(suite, case)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Xml.Element, case: CaseOutcome) -> None:
    element = Xml.SubElement(suite, "testcase", classname=case.file, name=case.name, file=case.file)
    element.set("line", str(case.line))
    element.set("time", f"{case.seconds:.3f}")
    if not case.passed:
        first = case.failures[0]
        message = _printable(f"step {first.step}: {first.subject}")
        failed = Xml.SubElement(element, _kind(case), message=message)
        failed.text = _printable("\n\n".join(_indented(failure) for failure in case.failures))
        if first.reason:
            failed.set("type", first.reason)


def _kind(case: CaseOutcome) -> str:
    """JUnit's element: `error` if an error ended the case, `failure` for a difference; empty if the case passed."""
    if case.passed:
        return ""
    return "error" if any(failure.reason for failure in case.failures) else "failure"


def _indented(failure: StepMismatch) -> str:
    reason = f" [{failure.reason}]" if failure.reason else ""
    body = "".join(f"\n      {line}" for line in failure.difference.splitlines())
    return f"     step {failure.step}: {failure.subject}{reason}{body}"


def _printable(text: str) -> str:
    """The text with control characters replaced, because XML does not allow them."""
    return "".join(letter if letter in "\n\t" or letter.isprintable() else "\ufffd" for letter in text)
