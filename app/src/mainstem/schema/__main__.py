"""`python -m mainstem.schema [ROOT]` writes the generated files and tables below ROOT, the current directory by default."""

import sys
from pathlib import Path

from mainstem.schema import WITH_REASONS, files, with_reasons


def main(root: Path) -> None:
    """Write the files that have changed; other files keep their modification time."""
    pages = {
        name: with_reasons((root / name).read_text(encoding="utf-8"))
        for name in WITH_REASONS
        if (root / name).exists()
    }
    for name, text in {**files(), **pages}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
