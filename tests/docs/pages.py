"""Pages that can be followed literally: they show files, commands and what the commands print.

A line that names a file in backticks and ends with a colon stands before the content of this file. A block whose lines
begin with `$ ` has commands, each with its output below it. `python -m tests.docs.pages PAGE...` writes the outputs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from pathlib import Path

from tests.command import foretell

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^(?P<fence>```+)\w*\n(?P<content>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
FILE_BEFORE = re.compile(r"`([\w-]+\.(?:csv|jsonl|ftl|py|toml|log))`[^`\n]*:\n\n\Z")
TIMES = re.compile(r"\b[\d.,]+ (?:ms|s|min) (?=in this process)|, [\d.,]+ (?:ms|s|min)$", re.MULTILINE)


def without_times(text: str) -> str:
    """The output without the time that a command took."""
    return TIMES.sub("", text)


def followed(text: str, folder: Path) -> str:
    """The page with the outputs that its commands have in this folder, after the files before them are written."""
    parts, end = [], 0
    for block in BLOCK.finditer(text):
        parts.append(text[end : block.start("content")])
        content = block["content"]
        named = FILE_BEFORE.search(text, 0, block.start())
        if content.startswith("$ "):
            content = _with_outputs(content, folder)
        elif named is not None:
            (folder / named[1]).write_text(content, encoding="utf-8")
        parts.append(content)
        end = block.end("content")
    return "".join((*parts, text[end:]))


def _with_outputs(block: str, folder: Path) -> str:
    shown = []
    for command, output in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        printed = _printed(command, folder)
        kept = output if without_times(output) == without_times(printed) else printed
        shown.append(f"$ {command}\n{kept}")
    return "".join(shown)


def _printed(command: str, folder: Path) -> str:
    """What a person sees on a terminal: standard output, then the errors."""
    program, *arguments = shlex.split(command)
    if program == "foretell":
        done = foretell(folder, *arguments, terminal=True)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr
    if program == "python":
        return _python(arguments, folder)
    raise AssertionError(f"a page runs foretell and python, not: {command}")


def _python(arguments: list[str], folder: Path) -> str:
    printed, before, arguments_before = io.StringIO(), Path.cwd(), sys.argv
    os.chdir(folder)
    sys.argv = arguments
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        os.chdir(before)
        sys.argv = arguments_before
    return printed.getvalue()


def main(pages: list[str]) -> None:
    for page in pages:
        path = Path(page)
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(followed(path.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
