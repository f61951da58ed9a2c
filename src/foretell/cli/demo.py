"""`foretell demo`: a year of flights where its packages are installed, else the small demonstration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from foretell.cli.output import say
from foretell.extras import has_extra, require_extra

#: Without Spark the flights run in this process.
_EXTRAS = ("demo", "charts")

#: The report, where no other file is named.
REPORT = Path("foretell-demo.html")


@dataclass(frozen=True)
class DemoArguments:
    """The options of `foretell demo`; `output` and `engine` are None where they are not given."""

    small: bool = False
    output: Path | None = None
    engine: str | None = None


def show(arguments: DemoArguments) -> None:
    given = {"--output": arguments.output is not None, "--engine": arguments.engine is not None}
    if arguments.small:
        for option in [name for name, is_given in given.items() if is_given]:
            raise typer.BadParameter("leave it out: --small does not use it", param_hint=option)
    if arguments.engine == "reference":
        raise typer.BadParameter(
            "the reference evaluator makes no forecasts; use spark or embedded", param_hint="--engine"
        )
    if any(given.values()):
        for extra in _EXTRAS:
            require_extra(extra, "foretell demo on flights")
    if arguments.small or not all(map(has_extra, _EXTRAS)):
        from foretell.cli import small_demo

        small_demo.show()
        if not arguments.small:
            say("note: this was the small demonstration; for a year of flights, pip install 'foretell[demo]'")
        return
    from foretell.cli.flight_demo import FlightDemo

    FlightDemo(arguments.output or REPORT, replaces=arguments.output is not None, engine=arguments.engine).show()
