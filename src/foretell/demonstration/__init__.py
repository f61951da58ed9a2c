"""The demonstration: the flights of a year, statements about them, what they find, and how much of that is right."""

from foretell.extras import require_extra

require_extra("demo", "the demonstration on flights")
