"""How time and memory grow with lanes, windows, statements and templates."""
