"""Loss rates from data: the intervals cover the truth as often as they say, and known biases are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell.recover.loss_estimates import LossReport, of_complete, of_readers, of_repeated_reads
from tests.command import foretell

RUNS = 300


def coverage(report: Callable[[np.random.Generator], LossReport], loss: float, confidence: float = 0.9) -> None:
    """Of many simulated reports about as many intervals contain the loss, the mean estimate is near, and few warn."""
    reports = [report(np.random.default_rng(seed)) for seed in range(RUNS)]
    estimates = [r.estimates[0] for r in reports]
    covered = np.mean([e.low <= loss <= e.high for e in estimates])
    # Four standard deviations of the share.
    assert abs(covered - confidence) < 4 * np.sqrt(confidence * (1 - confidence) / RUNS)
    assert np.mean([e.loss for e in estimates]) == pytest.approx(loss, rel=0.05)
    assert np.mean([bool(r.warnings) for r in reports]) < 0.02


@pytest.mark.parametrize("loss", [0.02, 0.2, 0.6])
def test_two_readers(loss: float) -> None:
    def report(rng: np.random.Generator) -> LossReport:
        first, second = (rng.random((2, 600)) >= np.array([[loss], [0.3]])).astype(int)
        seen = (first + second) > 0
        return of_readers({"a": first[seen], "b": second[seen]}, 0.9)

    coverage(report, loss)
    assert np.mean([report(np.random.default_rng(n)).happened for n in range(50)]) == pytest.approx(600, rel=0.02)


@pytest.mark.parametrize("loss", [0.05, 0.4])
def test_a_complete_record(loss: float) -> None:
    def report(rng: np.random.Generator) -> LossReport:
        return of_complete("log", np.ones(400, np.bool_), {"a": (rng.random(400) >= loss).astype(int)}, 0.9)

    coverage(report, loss)


@pytest.mark.parametrize("attempts", [None, 4])
@pytest.mark.parametrize("loss", [0.03, 0.3, 0.6])
def test_repeated_reads(attempts: int | None, loss: float) -> None:
    def report(rng: np.random.Generator) -> LossReport:
        if attempts is None:
            reads = rng.poisson(-np.log(loss), 1_500)
        else:
            reads = rng.binomial(attempts, 1 - loss ** (1 / attempts), 1_500)
        return of_repeated_reads("a", reads[reads > 0], attempts, 0.9)

    coverage(report, loss)


def test_periodic_reads_are_not_as_by_chance() -> None:
    """Six attempts at fixed intervals, each of which fails with a half: to Poisson that is more loss."""
    reads = np.random.default_rng(1).binomial(6, 0.5, 4_000)
    report = of_repeated_reads("a", reads[reads > 0], None, 0.95)
    (warning,) = report.warnings
    assert "vary 0." in warning
    assert "fixed intervals: the loss is less than estimated; give the number of attempts" in warning
    assert report.estimates[0].low > 0.5**6
    known = of_repeated_reads("a", reads[reads > 0], 6, 0.95)
    assert not known.warnings
    assert known.estimates[0].low < 0.5**6 < known.estimates[0].high


def test_passages_that_differ() -> None:
    """Half of the passages are read easily, the others hardly: more of these are lost than it seems."""
    rng = np.random.default_rng(1)
    reads = rng.poisson(np.where(rng.random(4_000) < 0.5, 5.0, 0.7))
    report = of_repeated_reads("a", reads[reads > 0], None, 0.95)
    (warning,) = report.warnings
    assert "the loss is greater than estimated" in warning
    assert report.estimates[0].high < np.mean(reads == 0)


def test_readers_that_fail_together() -> None:
    """A crowd hides tags from both: fewer passages of one lack the other than are lost. Several reads show it."""
    rng = np.random.default_rng(1)
    rate = np.where(rng.random(3_000) < 0.5, 4.0, 0.5)
    first, second = rng.poisson(rate), rng.poisson(rate)
    seen = (first + second) > 0
    report = of_readers({"a": first[seen], "b": second[seen]}, 0.95)
    assert [w.split(" (")[0] for w in report.warnings] == [
        f"'{name}' and the others fail together: its loss is greater than estimated" for name in "ab"
    ]
    assert report.estimates[0].high < np.mean(first == 0)


def test_one_read_each_shows_no_dependence() -> None:
    report = of_readers({"a": np.tile([1, 1, 0], 40), "b": np.tile([1, 0, 1], 40)}, 0.95)
    assert report.notes == (
        "each reader has at most one event of a passage: whether they fail together cannot be told",
    )


def test_few_passages() -> None:
    report = of_readers({"a": np.array([1, 1, 0, 1]), "b": np.array([1, 0, 1, 1])}, 0.95)
    assert report.warnings[:2] == (
        "'a' is compared on only 3 passages",
        "only 2 passages of 'a' are those of another reader: the estimate is biased",
    )
    apart = of_readers({"a": np.array([1, 0]), "b": np.array([0, 1])}, 0.95)
    assert apart.estimates[0].low == pytest.approx(0.207, abs=1e-3)
    assert apart.estimates[0].high == 1.0
    seldom = of_repeated_reads("a", np.append(np.ones(5, np.int64), 3), None, 0.95)
    assert seldom.warnings[-1] == "the interval is wide: too few passages of 'a' are read more than once"
    with pytest.raises(ft.InputError, match="no passage of 'a' is read more than once"):
        of_repeated_reads("a", np.ones(50, np.int64), None, 0.95)


# ── from events ──


def reads(rng: np.random.Generator, passages: int, loss: float) -> list[dict[str, object]]:
    """Each tag passes twice, an hour apart."""
    happened = [(3_600.0 * visit + tag, tag) for tag in range(passages // 2) for visit in range(2)]
    return [{"time": time, "tag": tag} for time, tag in happened if rng.random() >= loss]


def test_passages_are_told_apart_by_pauses() -> None:
    rng = np.random.default_rng(1)
    inputs = {"gate": reads(rng, 2_000, 0.1), "door": reads(rng, 2_000, 0.3)}
    report = ft.estimate_loss(inputs, "tag", time="time", pause=60)
    gate, door = report.estimates
    assert gate.low < 0.1 < gate.high
    assert door.low < 0.3 < door.high
    assert report.happened == pytest.approx(2_000, rel=0.02)
    whole = ft.estimate_loss(inputs, ["tag"], time="time")
    assert whole.estimates[0].loss < 0.02  # a tag that was seen once


def test_a_record_of_a_part_of_the_time() -> None:
    """What the reader has before and after the record does not matter."""
    rng = np.random.default_rng(1)
    gate = [{"time": n, "tag": n} for n in range(3_000) if rng.random() >= 0.2]
    log = [{"time": n, "tag": n} for n in range(1_000, 2_000)]
    report = ft.estimate_loss({"gate": gate, "log": log}, "tag", complete="log", time="time")
    (estimate,) = report.estimates
    assert estimate.passages == 1_000
    assert estimate.low < 0.2 < estimate.high
    assert report.warnings == ()
    partial = ft.estimate_loss({"gate": gate, "log": log[::2]}, "tag", complete="log", time="time")
    assert "it is not complete" in partial.warnings[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"passage": "tga"}, "the events of 'a' have no 'tga'"),
        ({"passage": []}, "passage: expected at least one attribute"),
        ({"inputs": {}}, "there is no reader to estimate the loss of"),
        ({"complete": "b"}, "complete: 'b' is none of the inputs"),
        ({"complete": "a"}, "'a' is complete, and there is no reader to compare"),
        ({"pause": 0}, "pause: expected a time above 0, found 0"),
        ({"attempts": 1}, "attempts: expected a whole number from 2 on, found 1"),
        ({"attempts": 2}, "a passage has 3 reads of 'a', more than its 2 attempts"),
        ({"confidence": 1}, "confidence: expected a number between 0 and 1, found 1"),
    ],
)
def test_refusals(arguments: dict[str, object], message: str) -> None:
    events = [{"time": n, "tag": 1} for n in range(3)]
    given: dict[str, Any] = {"inputs": {"a": events}, "passage": "tag", "time": "time", **arguments}
    with pytest.raises(ft.InputError) as caught:
        ft.estimate_loss(**given)
    assert message in str(caught.value)


def test_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name, loss in (("gate", 0.1), ("door", 0.3)):
        lines = (json.dumps(event) + "\n" for event in reads(rng, 400, loss))
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    inputs = ("--input", "gate.jsonl", "--input", "door.jsonl", "--time", "time")
    done = foretell(tmp_path, "loss", *inputs, "--passage", "tag", "--pause", "60", "--json")
    assert done.returncode == 0, done.stderr
    assert [e["reader"] for e in json.loads(done.stdout)["estimates"]] == ["gate", "door"]
    shown = foretell(tmp_path, "loss", *inputs, "--passage", "tag", "--pause", "60")
    assert shown.stdout.startswith("Loss by several readers, 95% intervals\n")
    assert "whether they fail together cannot be told" in shown.stderr
    wrong = foretell(tmp_path, "loss", *inputs)
    assert wrong.returncode == 2
    assert "--passage" in wrong.stderr
