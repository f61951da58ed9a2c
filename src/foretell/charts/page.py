"""Pictures on one page that opens offline, and each by itself as SVG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Protocol

import vl_convert

from foretell.charts.theme import Specification


class Picture(Protocol):
    @property
    def slug(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    def specification(self) -> Specification: ...


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: #22262e;
       max-width: 56rem; margin: 3rem auto; padding: 0 1.5rem; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.15rem; margin: 2.5rem 0 .25rem; }}
p {{ max-width: 44rem; margin: .25rem 0 .75rem; color: #444a54; }}
figure {{ margin: 0; overflow-x: auto; }}
pre {{ font-size: .75rem; line-height: 1.35; overflow-x: auto; }} .warning {{ color: #a8321e; }}
</style>
<script>{library}</script>
</head>
<body>
<h1>{title}</h1>
<p>{introduction}</p>
{preface}{sections}
<script>
for (const [slug, spec] of Object.entries({specifications}))
  vegaEmbed("#" + slug, spec, {{ renderer: "svg", actions: false }});
</script>
</body>
</html>
"""

_SECTION = '<section><h2>{title}</h2><p>{sentence}</p><figure id="{slug}"></figure></section>'


def page(
    title: str, introduction: str, pictures: Sequence[Picture], *, table: str = "", warnings: Sequence[str] = ()
) -> str:
    """One page with all pictures, before them warnings and figures as text.

    What draws them is in the page too, so it needs no network.
    """
    preface = "".join(f'<p class="warning">{escape(warning)}</p>\n' for warning in warnings)
    preface += f"<pre>{escape(table)}</pre>\n" if table else ""
    return _PAGE.format(
        title=escape(title),
        introduction=escape(introduction),
        preface=preface,
        library=vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
        sections="\n".join(
            _SECTION.format(slug=p.slug, title=escape(p.title), sentence=escape(p.sentence)) for p in pictures
        ),
        # No text may end the script in which it stands.
        specifications=json.dumps({p.slug: p.specification() for p in pictures}).replace("<", "\\u003c"),
    )


def svg(picture: Picture) -> str:
    """One picture with its title, for pages that have their own words."""
    return vl_convert.vegalite_to_svg({**picture.specification(), "title": picture.title})


def save(folder: Path, name: str, title: str, introduction: str, pictures: Sequence[Picture]) -> None:
    """`name`.html with all pictures, and `name`-slug.svg for each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_text(page(title, introduction, pictures), encoding="utf-8")
    for picture in pictures:
        (folder / f"{name}-{picture.slug}.svg").write_text(svg(picture), encoding="utf-8")
