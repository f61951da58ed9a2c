"""The ids of many estimates: those that each has by itself."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.events.notification import estimate_id
from tests.recover.estimate_programs import ESTIMATE_MODEL, ESTIMATES, estimate_events


@pytest.mark.parametrize("lanes", ["PER tag", "PER tag, room", ""])
@pytest.mark.parametrize("name", [" ID e", ""])
def test_ids_in_arrow_are_those_of_rows(lanes: str, name: str) -> None:
    text = ESTIMATES.replace("PER tag", lanes).replace(" ID e", name).replace("v INT,", "v INT, room STRING,")
    rooms = ["hall", "Küche", None]
    events = [{**event, "room": rooms[event["tag"] % 3]} for event in estimate_events(120)]
    found = ft.run(text, {"s": events}, model=ESTIMATE_MODEL, until=3_000, engine="embedded")
    assert len([n for n in found if n.kind == "estimate"]) > 5
    ids = [estimate_id(n) if n.kind != "match" else None for n in found]
    assert found.to_arrow().column("id").to_pylist() == ids == [n.id for n in found]
