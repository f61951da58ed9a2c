"""`foretell format`: files of statements in the usual layout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from foretell.cli.application import Quiet, app
from foretell.cli.help_format import GroupedCommand

#: The name of the standard input.
_STANDARD = Path("-")


@app.command(
    "format",
    cls=GroupedCommand,
    epilog="""
foretell format watch.ftl
foretell format --check *.ftl
""",
)
def format_files(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Files of statements; - is the standard input.", show_default=False),
    ],
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; the exit status is 1 if a file would change.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Write statements in the usual layout, with their comments."""
    from foretell.cli.output import say, say_error
    from foretell.errors import ForetellError

    failed = False
    for file in files:
        try:
            changed = _format_input(check) if file == _STANDARD else _format_file(file, check)
        except ForetellError as error:
            failed = True
            say_error(error)
            continue
        failed |= check and changed
        if changed and not quiet and file != _STANDARD:
            say(f"{'would format' if check else 'formatted'} {file}")
    if failed:
        raise typer.Exit(1)


def _format_file(file: Path, check: bool) -> bool:
    """Formats a file in its place; returns whether that changes it."""
    from foretell.events.atomic_files import atomic_write, path_of, read_text

    read_text(path_of(file))  # which says what is wrong with the path or the encoding
    content = file.read_bytes()
    formatted = _formatted(content.decode("utf-8"), str(file)).encode("utf-8")
    if formatted == content:
        return False
    if not check:
        mode = file.stat().st_mode
        with atomic_write(file) as output:
            output.write(formatted)
        file.chmod(mode)
    return True


def _format_input(check: bool) -> bool:
    """Formats the standard input to the standard output."""
    from foretell.errors import InputError
    from foretell.notify.files import standard_output, writing_to

    content = sys.stdin.buffer.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("cannot-read", "cannot read the standard input: it is not UTF-8") from None
    formatted = _formatted(text, "-").encode("utf-8")
    if not check:
        output = standard_output()
        with writing_to(output):
            output.write(formatted)
    return formatted != content


def _formatted(text: str, file: str) -> str:
    """The text in the usual layout, with the line ends and the byte order mark that it has."""
    from foretell.language.layout.formatter import format_text
    from foretell.language.layout.line_ends import with_line_ends_of

    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark + with_line_ends_of(text, format_text(text, file))
