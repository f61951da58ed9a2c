"""A chart: a specification with the records that it draws. It shows itself in notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.errors import InputError

#: A row of the data of a chart.
ChartRecord = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Chart(ABC):
    """A chart of a page. `slug` is its name there, of letters, digits and `-`."""

    slug: str
    title: str
    caption: str

    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """The specification, with the records in it: of Vega-Lite where the chart is not drawn here. Raises InputError
        where there is nothing to draw."""

    def records(self) -> list[ChartRecord]:
        """The records that the chart draws."""
        return list(_inline_records(self.specification()))

    @property
    def note(self) -> str:
        """A sentence on what the chart leaves out; empty where it shows everything."""
        return ""

    def svg(self) -> str:
        """The chart as a file of SVG, which follows the theme of its reader."""
        from foretell.charts.theme import dark_style_element  # loads Altair

        head, end, body = self.bare_svg().partition(">")
        return f"{head}{end}{dark_style_element()}{body}"

    def bare_svg(self) -> str:
        """The chart with its title as SVG, whose colours the page around it may change."""
        from foretell.charts.vega import vega_svg  # loads V8

        return vega_svg({**self.specification(), "title": self.title})

    def drawing(self) -> str | None:
        """The SVG of a chart that is drawn here; None where Vega draws it."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.slug}: {self.title})"

    def _repr_html_(self) -> str:
        from foretell.charts.notebook_view import notebook_html

        return notebook_html("", "", [(self.title, self.caption, [self])])


def _inline_records(specification: Mapping[str, Any]) -> Iterator[ChartRecord]:
    """The records of a specification of Vega-Lite and of its layers. Altair has those of layers in a dict apart."""
    for values in specification.get("datasets", {}).values():
        yield from values
    data = specification.get("data")
    if isinstance(data, Mapping):
        yield from data.get("values", ())
    for name in ("layer", "vconcat", "hconcat"):
        for part in specification.get(name, ()):
            yield from _inline_records(part)


def nothing_to_draw(title: str, reason: str, hint: str = "") -> InputError:
    return InputError("nothing-to-draw", f"the chart '{title}' has nothing to draw: {reason}", hint=hint)
