"""The option --limit, as in `--limit memory=4GiB --limit then=drop`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from foretell.cli.input_options import pairs
from foretell.errors import InputError, suggestion

if TYPE_CHECKING:
    from foretell.machine.exec.limits import Limits


def limits_of(options: Sequence[str]) -> Limits | None:
    """The limits that options of the form NAME=VALUE set; None where there are none."""
    if not options:
        return None
    from foretell.machine.exec.limits import Limits  # loads Numba, which takes a while

    names = list(Limits.__dataclass_fields__)
    given: dict[str, Any] = {}
    for name, value in pairs(options, "--limit", "NAME=VALUE").items():
        if name not in names:
            hint = suggestion(name, names) or f"one of {', '.join(names)}"
            raise typer.BadParameter(f"there is no limit '{name}' ({hint})", param_hint="--limit")
        given[name] = int(value) if value.isdecimal() else value
    try:
        return Limits(**given)
    except InputError as error:
        raise typer.BadParameter(error.message, param_hint="--limit") from None
