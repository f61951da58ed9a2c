"""Pictures: each is a few values that draw themselves, as SVG for a page of text or on one page that opens offline."""
