"""The Python builder: the same trees as the text gives, from Python's own operators. `foretell.build` is its door."""
