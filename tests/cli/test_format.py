"""`foretell format`: files that are written, checked, or refused."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.command import foretell

UGLY = "subscribe m from s match a,b -- why\n"
USUAL = "SUBSCRIBE m FROM s\nMATCH  a , b;  -- why\n"


def test_files_are_written_in_their_places(tmp_path: Path) -> None:
    for name, content in (
        ("a.ftl", UGLY.encode()),
        ("b.ftl", USUAL.encode()),
        ("c.ftl", b"\xef\xbb\xbf" + UGLY.encode()),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "a.ftl").chmod(0o640)
    done = foretell(tmp_path, "format", "a.ftl", "b.ftl", "c.ftl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "formatted a.ftl\nformatted c.ftl\n")
    assert (tmp_path / "a.ftl").read_text() == (tmp_path / "b.ftl").read_text() == USUAL
    assert (tmp_path / "a.ftl").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "c.ftl").read_bytes() == b"\xef\xbb\xbf" + USUAL.encode()
    assert foretell(tmp_path, "format", "a.ftl", "b.ftl", "c.ftl").stderr == ""


def test_line_ends_stay_what_they_are(tmp_path: Path) -> None:
    text = "subscribe m from s match a define a\r\nas x = 'one\ntwo\r\nthree' -- why\r\n"
    (tmp_path / "a.ftl").write_bytes(text.encode())
    assert foretell(tmp_path, "format", "--quiet", "a.ftl").stderr == ""
    wanted = b"SUBSCRIBE m FROM s\r\nMATCH  a\r\nDEFINE a\r\n           AS x = 'one\ntwo\r\nthree';  -- why\r\n"
    assert (tmp_path / "a.ftl").read_bytes() == wanted


def test_a_check_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.ftl").write_text(UGLY)
    (tmp_path / "b.ftl").write_text(USUAL)
    done = foretell(tmp_path, "format", "--check", "a.ftl", "b.ftl")
    assert (done.returncode, done.stderr) == (1, "would format a.ftl\n")
    assert (tmp_path / "a.ftl").read_text() == UGLY
    assert foretell(tmp_path, "format", "--check", "b.ftl").returncode == 0


def test_a_wrong_text_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.ftl").write_text("SUBSCRIBE m FROM\n")
    (tmp_path / "b.ftl").write_text(UGLY)
    (tmp_path / "c.ftl").write_bytes(b"-- \xff\n")
    done = foretell(tmp_path, "format", "a.ftl", "missing.ftl", "c.ftl", "b.ftl")
    assert done.returncode == 1
    assert "error: a.ftl:1:17: unexpected end of the text, expected a stream" in done.stderr
    assert "error: there is no file 'missing.ftl'" in done.stderr
    assert "error: cannot read 'c.ftl': it is not UTF-8" in done.stderr
    assert done.stderr.endswith("formatted b.ftl\n")
    assert (tmp_path / "a.ftl").read_text() == "SUBSCRIBE m FROM\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.ftl").write_text(UGLY)
    (tmp_path / "link.ftl").symlink_to("a.ftl")
    assert foretell(tmp_path, "format", "link.ftl").returncode == 0
    assert (tmp_path / "link.ftl").is_symlink()
    assert (tmp_path / "a.ftl").read_text() == USUAL


@pytest.mark.parametrize(
    ("content", "status", "shown"), [(UGLY.encode(), 0, USUAL), (b"\xff", 1, ""), (b"MATCH", 1, "")]
)
def test_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, status: int, shown: str
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    done = foretell(tmp_path, "format", "-")
    assert (done.returncode, done.stdout) == (status, shown)
    assert bool(done.stderr) == bool(status)
