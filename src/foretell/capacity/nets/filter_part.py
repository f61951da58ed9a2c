"""The filter (Fig. 7.1): free for new events, or busy with the one that it compares with the profiles."""

from __future__ import annotations

from foretell.capacity.net.petri_net import Ending, ExponentialTime, Immediately, NetPlace, NetTransition, Station
from foretell.capacity.nets.part import NetPart, connection, messages, queue, timed
from foretell.capacity.nets.settings import ServiceSettings


def filter_part(settings: ServiceSettings) -> NetPart:
    given, load = settings.filter, settings.load
    taken = messages("network2", settings.notifier.capacity, load)
    process = Immediately() if given.process is None else ExponentialTime(given.process)
    transitions = {
        "take_event": NetTransition(
            Immediately(),
            inputs={"observed_events": 1, "free": 1},
            outputs={"filter_busy": 1, **messages("network1", settings.network.capacity, load)},
        ),
        "filtering": NetTransition(
            timed(given.rate, fixed=given.fixed),
            inputs={"filter_busy": 1},
            outputs={"filtered": 1},
            servers=given.servers,
        ),
        **verdicts(given.coverage, "filtered", {"accepted": 1}, {"free": 1}),
        "process": NetTransition(
            process,
            inputs={"accepted": 1, **taken},
            outputs={"matched_events": 1, "free": 1},
            servers=1 if given.process is None else given.servers,
        ),
    }
    places = {
        "free": NetPlace(given.servers),
        "filter_busy": queue(),
        "filtered": queue(),
        "accepted": queue(),
        "matched_events": queue(),
        **connection("network2", settings.notifier.capacity),
    }
    busy = ("filtering",) if given.process is None else ("filtering", "process")
    return NetPart(places, transitions, {"filter": Station(busy, given.servers)})


def verdicts(
    coverage: float, place: str, accepted: dict[str, int], rejected: dict[str, int]
) -> dict[str, NetTransition]:
    """The immediate transitions of accepted and rejected events, by the coverage of the profiles (definition 7.1)."""
    accept = NetTransition(Immediately(coverage or 1.0, 3), inputs={place: 1}, outputs=accepted)
    reject = NetTransition(
        Immediately(1.0 - coverage or 1.0, 3), inputs={place: 1}, outputs=rejected, ending=Ending.REJECTED
    )
    found = {"accept": accept} if coverage else {}
    return {**found, **({"reject": reject} if coverage < 1 else {})}
