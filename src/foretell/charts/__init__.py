"""Charts: values that become Vega-Lite specifications, saved as SVG or on one page that opens offline."""

from foretell.extras import require_extra

require_extra("charts", "a page with charts")
