"""The language server in a real editor: Neovim's own client, without a window. `make soak` runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak

TEXT = """\
STREAM logins (ip STRING, status STRING) TIME time; -- 🦆🦆
subscribe m from logins
match a , b
define a as ip = '🦆' and statsu = 'x' and status <> 'x'
within 5 min;
"""


@pytest.fixture
def neovim() -> str:
    """The editor. Where there is none to be had the test is skipped, but not in CI: there it must be tested."""
    found = shutil.which("nvim")
    if found is None:
        why = "there is no Neovim to test with: `make neovim`, or apt-get install neovim"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found


def test_an_editor_shows_and_changes_a_text(neovim: str, tmp_path: Path) -> None:
    file, output = tmp_path / "watch.ftl", tmp_path / "done.json"
    file.write_text(TEXT, encoding="utf-8")
    given = json.dumps([[sys.executable, "-m", "foretell.cli", "lsp"], str(file), str(output)])
    script = Path(__file__).with_name("neovim.lua")
    done = subprocess.run(
        [neovim, "--headless", "--clean", "-n", "-c", f"luafile {script}"],
        env={**os.environ, "FORETELL_TEST": given, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert output.exists(), done.stderr
    seen = json.loads(output.read_text(encoding="utf-8"))
    assert seen.get("failure") is None, seen
    ((line, column, message, severity),) = seen["errors"]
    # Neovim counts bytes: 🦆 has four.
    assert (line, column, severity) == (3, TEXT.split("\n")[3].encode().index(b"statsu"), 1)
    assert message == "unknown attribute 'statsu' of stream 'logins'\nhint: did you mean 'status'?"
    assert "contradict each other" in seen["finding"]
    assert "A step:" in seen["hover"]
    assert "DEFINE a AS ip = '🦆'" in seen["hover"]
    assert {"status", "ip", "time"} <= {*seen["completion"]}
    assert seen["renamed"][2:4] == ["match fehler , b", "define fehler as ip = '🦆' and status = 'x' and status <> 'x'"]
    assert seen["formatted"] == [
        "STREAM logins (ip STRING, status STRING) TIME time;  -- 🦆🦆",
        "",
        "SUBSCRIBE m FROM logins",
        "MATCH  fehler , b",
        "DEFINE fehler AS ip = '🦆' AND status = 'x' AND status <> 'x'",
        "WITHIN 5 min;",
    ]
