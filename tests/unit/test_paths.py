"""Paths of a document, written and read."""

from hypothesis import given
from hypothesis import strategies as st
from mainstem.language.yaml.yamltext import parse_path, render_path


KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True)


@given(st.lists(st.one_of(KEYS, st.integers(0, 99)), min_size=1, max_size=6))
def test_a_path_is_read_as_it_was_written(path: list[str | int]) -> None:
    assert parse_path(render_path(tuple(path))) == tuple(path)
