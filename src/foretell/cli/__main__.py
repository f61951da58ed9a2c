"""`python -m foretell.cli` is the command `foretell`."""

from foretell.cli.main import main

main()
