"""`python -m foretell.app` is the command `foretell`."""

from foretell.app.main import main

main()
