"""The constructions of ECL section 4, one module each."""
