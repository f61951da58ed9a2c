"""`foretell loss`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from foretell.cli.input_options import InputArguments, stream_name
from foretell.cli.output import say
from foretell.cli.progress_display import progress
from foretell.notify.files import standard_output


def estimate(given: InputArguments, passage: Sequence[str], *, as_json: bool, quiet: bool, **settings: Any) -> None:
    from foretell.api.loss_estimation import estimate_loss  # loads SciPy, which takes a while

    if not passage:
        raise typer.BadParameter("name the attributes that identify a passage", param_hint="--passage")
    given = given.with_names([stream_name(Path(item)) for item in given.inputs])
    names = [name for part in passage for name in part.split(",")]
    with progress("reading the events"):
        found = estimate_loss(given.sources(), names, time=given.time_columns(), read=given.read_options(), **settings)
    text = json.dumps(found.as_dict()) + "\n" if as_json else found.text()
    standard_output().write(text.encode())
    for note in () if quiet else found.notes:
        say(f"note: {note}")
