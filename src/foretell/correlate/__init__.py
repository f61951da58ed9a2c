"""Correlators: the event correlation language ECL as correlation machines, and how they run."""

from foretell.jit import cache_on_disk
from foretell.machine.kernels import correlation

cache_on_disk(correlation)
