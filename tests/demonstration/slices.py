"""A part of the year that has something of everything: two weeks to learn from, and three to watch."""

from __future__ import annotations

from datetime import datetime

from foretell.demonstration.flights import NEW_YORK, FlightData, flight_data

SINCE = datetime(2013, 2, 4, tzinfo=NEW_YORK)
WATCHED_SINCE = datetime(2013, 2, 25, tzinfo=NEW_YORK)
UNTIL = datetime(2013, 3, 18, tzinfo=NEW_YORK)


def weeks() -> FlightData:
    return flight_data().between(SINCE, UNTIL)
