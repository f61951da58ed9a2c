"""Array types that several packages share."""
