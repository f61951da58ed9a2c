"""The metrics of a service in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foretell.serve.recorder import PUSH_BUCKETS
from foretell.serve.records import KINDS
from foretell.serve.service import PipelineService

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Samples = Iterable[tuple[Mapping[str, str], float | int | None]]


def metrics_text(service: PipelineService) -> str:
    return "\n".join(_lines(service)) + "\n"


def _lines(service: PipelineService) -> Iterator[str]:
    state = service.recorder.state(0)
    streams, statements = state["streams"], state["statements"]
    load, pushes = service.recorder.load, service.recorder.pushes
    for field, name, text in (
        ("events", "events", "Events read"),
        ("late", "late", "Events later than LATE BY allows"),
        ("quarantined", "quarantined", "Malformed events set aside"),
        ("unreadable", "unreadable", "Values that could not be read and are NULL"),
    ):
        samples = [({"stream": stream["name"]}, stream[field]) for stream in streams]
        yield from _metric(f"{name}_total", "counter", text, samples)
    kinds = [({"statement": s["name"], "kind": k}, s["counts"][k]) for s in statements for k in KINDS]
    yield from _metric("notifications_total", "counter", "Notifications", kinds)
    for field, text in (
        ("partial_matches", "Partial matches that are held"),
        ("lanes", "Keys of the statement's streams"),
        ("stopped_lanes", "Keys in which a limit has stopped the statement"),
    ):
        yield from _metric(field, "gauge", text, [({"statement": s["name"]}, s[field]) for s in statements])
    yield from _metric("state_bytes", "gauge", "Memory of the engine's state", [({}, load.state_bytes)])
    lag = "Seconds that the watermark is behind the clock"
    yield from _metric("watermark_lag_seconds", "gauge", lag, [({}, load.lag)])
    yield "# HELP foretell_push_seconds Seconds that a push of events took"
    yield "# TYPE foretell_push_seconds histogram"
    for bound, count in zip(PUSH_BUCKETS, pushes.buckets, strict=True):
        yield f'foretell_push_seconds_bucket{{le="{bound}"}} {count}'
    yield f'foretell_push_seconds_bucket{{le="+Inf"}} {pushes.count}'
    yield f"foretell_push_seconds_sum {pushes.total:.6f}"
    yield f"foretell_push_seconds_count {pushes.count}"
    dropped = "Notifications that slow clients of the page have missed"
    yield from _metric("dropped_total", "counter", dropped, [({}, state["dropped"])])
    yield from _metric("clients", "gauge", "Clients of the live feed", [({}, service.clients)])
    up = int(state["status"] == "running" and state["ready"])
    yield from _metric("up", "gauge", "1 while the pipeline runs", [({}, up)])


def _metric(name: str, kind: str, text: str, samples: _Samples) -> Iterator[str]:
    known = [(labels, value) for labels, value in samples if value is not None]
    if known:
        yield f"# HELP foretell_{name} {text}"
        yield f"# TYPE foretell_{name} {kind}"
    for labels, value in known:
        listed = ",".join(f'{label}="{_escaped(each)}"' for label, each in labels.items())
        yield f"foretell_{name}{{{listed}}} {value}" if listed else f"foretell_{name} {value}"


def _escaped(value: Any) -> str:
    """
    >>> _escaped('a "b"')
    'a \\\\"b\\\\"'
    """
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
