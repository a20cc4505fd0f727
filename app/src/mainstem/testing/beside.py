"""Names of test files: `x.test.yaml` holds the tests of `x.yaml`."""

from pathlib import Path


def holds_tests(file: Path) -> bool:
    """Whether a file holds tests, and not a pipeline."""
    return file.stem.endswith(".test")


def tests_beside(pipeline: Path) -> Path:
    """The file for the tests of a pipeline's file."""
    return pipeline.with_name(f"{pipeline.stem}.test{pipeline.suffix}")


def pipeline_beside(tests: Path) -> Path:
    """The pipeline's file for a test file that does not name one."""
    return tests.with_name(f"{tests.stem.removesuffix('.test')}{tests.suffix}")
