"""What is stored for later belongs to its owner alone, whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import foretell as ft
from foretell.connectors.mqtt.spool import Spool, SpooledMessage
from foretell.notify.messages import Message
from foretell.notify.outbox import Outbox


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _others(folder: Path) -> list[str]:
    """The files and folders that others have some permission for."""
    paths = [folder, *folder.rglob("*")]
    return [path.name for path in paths if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]


def test_the_outbox(tmp_path: Path) -> None:
    with closing(Outbox(tmp_path / "new" / "outbox")) as outbox:
        outbox.put([Message("a", "m", b"{}")], 0)
        outbox.mark_dead(outbox.pending(1), "refused")
        with outbox.sender_lock():
            assert len(list((tmp_path / "new" / "outbox").iterdir())) > 3  # also SQLite's own
            assert _others(tmp_path / "new") == []


def test_the_spool(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    spool.append([SpooledMessage("topic", b"payload", 1)])
    assert len(list((tmp_path / "spool").iterdir())) > 2
    assert _others(tmp_path / "spool") == []


def test_a_model(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text("before")
    ft.Model().save(tmp_path / "model.json")
    assert _others(tmp_path / "model.json") == []
