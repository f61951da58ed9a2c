"""The command in this process: quicker than one of its own, and with a terminal where a test wants one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from foretell.cli import main, progress_display


class _Stream(io.TextIOWrapper):
    def __init__(self, terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def foretell(
    folder: Path, *arguments: str, terminal: bool = False, progress: bool = False, width: int = 80
) -> subprocess.CompletedProcess[str]:
    """Run `foretell` with arguments in a folder. With `terminal` both outputs claim to be one, without colours.

    Progress is shown from the beginning, or never."""
    output, errors = _Stream(terminal), _Stream(terminal)
    settings = {"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "xterm"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        with (
            mock.patch.object(sys, "argv", ["foretell", *arguments]),
            mock.patch.object(sys, "stdout", output),
            mock.patch.object(sys, "stderr", errors),
            mock.patch.dict(os.environ, settings),
            mock.patch.object(progress_display, "DELAY", 0.0 if progress else 3600.0),
        ):
            status = main.run_app()
    finally:
        os.chdir(before)
    assert "Traceback" not in errors.text()
    return subprocess.CompletedProcess(["foretell", *arguments], status, output.text(), errors.text())
