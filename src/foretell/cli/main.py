"""The command `foretell`. Exit status: 0; 1 with an error message; 2 for a wrong command line; 130 after Ctrl-C.

The commands take a while to import, so `main` imports them inside the handler for Ctrl-C.
"""

from __future__ import annotations

import gc
import sys

from foretell.cli import interrupts


def main() -> None:
    # Most objects of the first second are modules, functions and classes, which stay: looking for garbage among them
    # again and again takes a twentieth of it.
    gc.set_threshold(100_000)
    interrupts.handle_interrupts()
    try:
        status = run_app()
    except BaseException as error:
        # An interrupt may become another error where it hits the middle of an import or of a call to the JVM.
        if isinstance(error, KeyboardInterrupt) or interrupts.was_interrupted():
            interrupts.leave()
        raise
    if interrupts.was_interrupted() or status == interrupts.STATUS:  # typer and Spark have handlers of their own
        interrupts.leave()
    gc.freeze()  # Python would look for garbage among all modules once more, which takes a fifth of a short command
    sys.exit(status)


def run_app() -> int:
    from foretell.cli.commands import app
    from foretell.cli.output import say, say_error, settle
    from foretell.errors import ForetellError

    try:
        app(prog_name="foretell")
    except SystemExit as end:  # typer exits so, also for a wrong command line
        return settle(end.code if isinstance(end.code, int) else 0)
    except ForetellError as error:
        say_error(error)
    except OSError as error:  # errors of files are ForetellErrors: this is standard output
        say(f"error: cannot write the output: {error.strerror or error}")
    return settle(1)
