"""Charts: values that become Vega-Lite specifications, saved as SVG or on one page that opens offline."""
