"""The spelling of what people read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Words that codespell takes for mistakes: "to and fro", "noti-fied" over two lines of a table, and names in code.
_ALLOWED = "fro,fied,befores,bu"


def _misspelt(*paths: Path) -> str:
    command = [sys.executable, "-m", "codespell_lib", "--skip", "*.svg,*.cast,_build", "-L", _ALLOWED, *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def test_spelling() -> None:
    paths = [
        ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "examples", "src/foretell")
    ]
    assert _misspelt(*paths) == ""


def test_a_mistake_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("This will recieve events.\n", encoding="utf-8")
    assert "recieve ==> receive" in _misspelt(tmp_path)
