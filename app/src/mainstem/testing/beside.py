"""Which file holds the tests of which pipeline, by name alone: `x.test.yaml` those of `x.yaml`."""

from pathlib import Path


def holds_tests(file: Path) -> bool:
    """Whether a file is one of tests, and not of a pipeline."""
    return file.stem.endswith(".test")


def tests_beside(pipeline: Path) -> Path:
    """Where the tests of a pipeline's file belong."""
    return pipeline.with_name(f"{pipeline.stem}.test{pipeline.suffix}")


def pipeline_beside(tests: Path) -> Path:
    """The file that tests are of where they name none."""
    return tests.with_name(f"{tests.stem.removesuffix('.test')}{tests.suffix}")
