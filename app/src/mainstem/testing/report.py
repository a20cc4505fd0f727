"""What is told of a run of tests: lines for a person, JUnit's XML for CI."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as Xml


@dataclass(frozen=True)
class StepMismatch:
    """What was not as expected: the step, the subject and the difference; `reason` is set where a step broke off."""

    step: int
    subject: str
    difference: str
    reason: str = ""


@dataclass(frozen=True)
class CaseOutcome:
    """How a case ended.

    Attributes:
        file: of the tests.
        line: at which the case begins.
        name: of the case.
        seconds: that it took.
        failures: none where it passed.
    """

    file: str
    line: int
    name: str
    seconds: float
    failures: tuple[StepMismatch, ...]

    @property
    def passed(self) -> bool:
        """True where everything was as expected."""
        return not self.failures


def lines(outcome: CaseOutcome) -> str:
    """A line for the case, and the differences of one that failed."""
    head = f"{'ok  ' if outcome.passed else 'FAIL'} {outcome.file}:{outcome.line}: {outcome.name} ({outcome.seconds:.1f} s)"
    return "\n".join([head, *(_indented(failure) for failure in outcome.failures)])


def summary(outcomes: Sequence[CaseOutcome], seconds: float) -> str:
    """The last line: how many passed and failed, and the time of all."""
    failed = sum(not outcome.passed for outcome in outcomes)
    return f"{len(outcomes) - failed} passed, {failed} failed in {seconds:.1f} s"


def junit(outcomes: Sequence[CaseOutcome]) -> str:
    """The outcomes as JUnit's XML, a suite for each file of tests."""
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
        told = Xml.SubElement(element, _kind(case), message=_printable(f"step {first.step}: {first.subject}"))
        told.text = _printable("\n\n".join(_indented(failure) for failure in case.failures))
        if first.reason:
            told.set("type", first.reason)


def _kind(case: CaseOutcome) -> str:
    """JUnit's word: an error broke a case off, a failure is a difference; empty where it passed."""
    if case.passed:
        return ""
    return "error" if any(failure.reason for failure in case.failures) else "failure"


def _indented(failure: StepMismatch) -> str:
    reason = f" [{failure.reason}]" if failure.reason else ""
    body = "".join(f"\n      {line}" for line in failure.difference.splitlines())
    return f"     step {failure.step}: {failure.subject}{reason}{body}"


def _printable(text: str) -> str:
    """Without control characters, which XML cannot hold."""
    return "".join(letter if letter in "\n\t" or letter.isprintable() else "\ufffd" for letter in text)
