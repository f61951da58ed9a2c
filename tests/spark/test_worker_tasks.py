"""Tasks in Spark's workers: what they have loaded is not searched for garbage after every task."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from foretell.errors import InputError
from foretell.spark import worker_tasks
from foretell.spark.worker_tasks import LOADING_TASKS, worker_task


@pytest.fixture
def freezes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Collects an item for each freeze, in a worker that has not run any task."""
    found: list[bool] = []
    monkeypatch.setattr(worker_tasks, "_loading_tasks", set())
    monkeypatch.setattr(worker_tasks, "gc", SimpleNamespace(freeze=lambda: found.append(True)))
    return found


def _run(monkeypatch: pytest.MonkeyPatch, task: int | None) -> None:
    context = None if task is None else SimpleNamespace(taskAttemptId=lambda: task)
    monkeypatch.setattr(worker_tasks, "TaskContext", SimpleNamespace(get=lambda: context))
    with worker_task():
        pass


def test_a_task_freezes_once(monkeypatch: pytest.MonkeyPatch, freezes: list[bool]) -> None:
    for task in (7, 7, 8):
        _run(monkeypatch, task)
    assert len(freezes) == 2


def test_only_the_first_tasks_freeze(monkeypatch: pytest.MonkeyPatch, freezes: list[bool]) -> None:
    for task in range(LOADING_TASKS + 5):
        _run(monkeypatch, task)
    assert len(freezes) == LOADING_TASKS


def test_the_driver_freezes_nothing(monkeypatch: pytest.MonkeyPatch, freezes: list[bool]) -> None:
    _run(monkeypatch, None)
    assert not freezes


def test_a_users_mistake_comes_without_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    with pytest.raises(InputError), worker_task():
        raise InputError("no-column", "no column 'v'")
    assert os.environ["SPARK_HIDE_TRACEBACK"] == "1"
