"""A notification's identity: the same from every engine and sink, different for different notifications."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foretell.events.notification import Notification
from foretell.events.types import Type
from foretell.notify.identity import identity
from foretell.notify.messages import messages_of, messages_of_batch
from foretell.notify.row_encoder import to_row, to_table

MATCH = Notification(
    subscription="intrusion",
    kind="match",
    key={"ip": "10.0.0.1", "user": None},
    start=1704067200000000,
    end=1704067201500000,
    probability=1.0,
    horizon=None,
    id=7,
    bindings={"mean": 0.1},
    events={"s1": 0, "s2": [1, 2], "s3": None},
    time_type=Type.TIMESTAMP,
)


def name(notification: Notification) -> str:
    return identity(to_row(notification))


def test_the_identity_never_changes() -> None:
    assert name(MATCH) == "ec27bbddfe101685536e1b87"


@pytest.mark.parametrize(
    "other",
    [
        replace(MATCH, subscription="other"),
        replace(MATCH, kind="estimate"),
        replace(MATCH, key=None),
        replace(MATCH, key={"ip": "10.0.0.2", "user": None}),
        replace(MATCH, start=MATCH.start + 1),
        replace(MATCH, end=MATCH.end + 1),
        replace(MATCH, id=8),
        replace(MATCH, events={"s1": 0, "s2": [1, 2], "s3": 3}),
        replace(MATCH, time_type=Type.INT),
    ],
)
def test_another_notification_has_another_identity(other: Notification) -> None:
    assert name(other) != name(MATCH)


@pytest.mark.parametrize(
    "same",
    [
        replace(MATCH, probability=0.1 + 0.2),
        replace(MATCH, bindings={"mean": 0.1 + 1e-17}),
        replace(MATCH, key={"user": None, "ip": "10.0.0.1"}),
    ],
)
def test_rounding_differences_do_not_change_it(same: Notification) -> None:
    assert name(same) == name(MATCH)


def test_tokens_and_forecasts_of_one_time_differ() -> None:
    token = replace(MATCH, kind="token", bindings={"token": "x"})
    assert name(token) != name(replace(token, bindings={"token": "y"}))
    forecast = replace(MATCH, kind="forecast", horizon=5)
    assert name(forecast) != name(replace(forecast, horizon=6))


@pytest.mark.parametrize(
    "notifications",
    [
        [MATCH, replace(MATCH, key=None, id="ann", events={})],
        [replace(MATCH, time_type=kind, start=1, end=2) for kind in (Type.INT, Type.FLOAT)],
    ],
)
def test_it_is_the_same_from_a_table(notifications: list[Notification]) -> None:
    [batch] = to_table(notifications).to_batches()
    names = [message.id for message in messages_of_batch(batch)]
    assert names == [message.id for message in messages_of(notifications)]


def test_messages_carry_it() -> None:
    [message] = messages_of([MATCH])
    assert message.subscription == "intrusion"
    assert message.body.startswith(
        b'{"notification":"ec27bbddfe101685536e1b87","subscription":"intrusion","kind":"match"'
    )
    text = replace(MATCH, id="ann")
    [batch] = to_table([text]).to_batches()
    assert list(messages_of_batch(batch)) == list(messages_of([text]))
