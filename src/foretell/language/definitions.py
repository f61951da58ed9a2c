"""DEFINE clauses: the condition of each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from foretell.errors import Place, refuse, suggestion
from foretell.language import tree
from foretell.language.tree import defined_twice, place_of


def definitions_of(
    definitions: tuple[tree.Definition, ...], known: Iterable[str], where: str
) -> Iterator[tuple[str, tree.Expression]]:
    """Steps with their conditions; refuses a step that is unknown or defined twice. The error names `where`."""
    seen: dict[str, Place] = {}
    names = set(known)
    for definition in definitions:
        for step in definition.steps:
            if step not in names:
                hint = suggestion(step, names)
                refuse("unused-definition", f"the {where} has no step '{step}'", place_of(step), hint)
            if step in seen:
                defined_twice(f"the step '{step}'", place_of(step), seen[step])
            seen[step] = place_of(step)
            yield step, definition.condition
