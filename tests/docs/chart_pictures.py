"""The pictures of docs/charts.md, made by its code: `python -m tests.docs.chart_pictures` writes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foretell.charts.chart import Chart

DOCS = Path(__file__).parents[2] / "docs"


def pictures() -> dict[str, str]:
    """The SVG of each picture by its path below docs/: what the block of code above it ends with."""
    names: dict[str, Any] = {}
    found: dict[str, str] = {}
    for code, picture in _blocks((DOCS / "charts.md").read_text(encoding="utf-8")):
        chart = _value(code, names)
        if picture:
            assert isinstance(chart, Chart), f"the code above {picture} ends with no chart"
            found[picture] = chart.svg()
    return found


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Blocks of Python, each with the picture that follows at once, if any."""
    for block in re.finditer(r"^```python\n(.*?)^```\n(?:\n!\[[^\]]+\]\((.+?)\))?", text, re.DOTALL | re.MULTILINE):
        yield block[1], block[2] or ""


def _value(code: str, names: dict[str, Any]) -> object:
    """Run code, and return the value of its last line where that is an expression."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "docs/charts.md", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "docs/charts.md", "exec"), names)
    return eval(compile(ast.Expression(last.value), "docs/charts.md", "eval"), names)


if __name__ == "__main__":
    for name, drawn in pictures().items():
        (DOCS / name).write_text(drawn, encoding="utf-8")
