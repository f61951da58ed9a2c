"""The notebooks of examples/notebooks: saved without outputs, and run from the beginning in a kernel of their own."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def cells(notebook: Path, kind: str) -> list[dict[str, Any]]:
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_are_notebooks() -> None:
    assert [notebook.stem for notebook in NOTEBOOKS] == ["first-steps", "forecasts", "lost-events"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_saved_as_they_should_be(notebook: Path) -> None:
    text = notebook.read_text(encoding="utf-8")
    code = cells(notebook, "code")
    assert [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    for cell in code:
        ast.parse(source(cell))
        assert max(map(len, source(cell).splitlines())) <= 120
    assert not re.search(r"(?<![\w.<])/(home|root|tmp|Users|work|usr)/", text)
    assert source(cells(notebook, "markdown")[0]).startswith("# ")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_notebooks_lead_to_files(notebook: Path) -> None:
    for cell in cells(notebook, "markdown"):
        for target in re.findall(r"\]\(([^)#:]+)\)", source(cell)):
            assert (notebook.parent / target).exists(), target


def test_the_page_of_notebooks_names_each() -> None:
    text = (ROOT / "docs/notebooks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`examples/notebooks/([\w-]+)\.ipynb`", text)) == {notebook.stem for notebook in NOTEBOOKS}


#: What a reader must see in the outputs of each notebook.
SHOWN = {
    "first-steps": ["2 notifications: guessed 2 matches", "did you mean 'status'?", "other events of the lane"],
    "forecasts": [
        "Model of 1 statement",
        "given_up: calibration",
        "with large",
        "given_up: 6 forecasts within 2 EVENTS",
    ],
    "lost-events": ["lent", "× 0.", "confirmed {'book':", "other events of the lane"],
}


@pytest.mark.soak
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    """In an empty folder, which stays empty."""
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    book = nbformat.read(notebook, as_version=4)
    client.NotebookClient(
        book, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = "\n".join(
        [output.get("text", "") for output in outputs]
        + [text for output in outputs for text in output.get("data", {}).values() if isinstance(text, str)]
    )
    assert [words for words in SHOWN[notebook.stem] if words not in shown] == []
    assert shown.count("<svg") >= 3
    assert [output for output in outputs if output.get("name") == "stderr"] == []
    assert list(tmp_path.iterdir()) == []
