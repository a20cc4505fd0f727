"""Finds the position of a character of a string value in the text of a YAML file.

YAML folds, indents and escapes strings, but it neither adds nor removes letters. So without blanks the n-th letter of
the value is the n-th letter of its text.
"""

import re
from typing import Final


_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")
_LETTER: Final = re.compile(r".", re.DOTALL)
_LETTERS: Final = {
    "'": re.compile(r"''|.", re.DOTALL),
    '"': re.compile(r"\\(?:x..|u.{4}|U.{8}|\r\n|.)|.", re.DOTALL),
}
_BLANK_ESCAPES: Final = {"\\" + letter for letter in "trnvf \t\r\n_NLP"} | {"\\\r\n"}


def index_of(raw: str, value: str, offset: int) -> int:
    """The index of `value[offset]` in the text of a scalar, which includes quotes, anchor and tag."""
    properties = _PROPERTIES.match(raw)
    begin = properties.end() if properties else 0
    style = raw[begin : begin + 1]
    if style in ("|", ">"):
        begin = raw.find("\n", begin) + 1
    elif style in _LETTERS:
        begin += 1
    wanted = sum(not letter.isspace() for letter in value[:offset])
    for match in _LETTERS.get(style, _LETTER).finditer(raw, begin):
        if _blank(match[0]):
            continue
        if wanted == 0:
            return match.start()
        begin = match.end()
        wanted -= 1
    return begin


def _blank(letter: str) -> bool:
    if len(letter) > 2 and letter[1] in "xuU":
        return chr(int(f"0x{letter[2:]}", 0)).isspace()
    return letter.isspace() or letter in _BLANK_ESCAPES
