"""Random statements with LOSING, with models and events for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

#: The shop of the paper, in lanes: some matches, some estimates, some of which are withdrawn.
ESTIMATES = """
STREAM s (time INT, tag INT, v INT, e INT) TIME time ID e;
SUBSCRIBE theft FROM s PER tag MATCH x ; !y ; z DEFINE x AS v = 0, y AS v = 1, z AS v = 2
WITHIN 20 LOSING 0.2 ABOVE 0.1;
"""


def exponential(mean: float, share: float) -> dict[str, object]:
    return {"distribution": "exponential", "mean": mean, "share": share}


ESTIMATE_MODEL = {
    "subscriptions": {
        "theft": {
            "after": {
                "y": {"x": exponential(5.0, 0.5)},
                "z": {"x": exponential(8.0, 0.9), "y": exponential(4.0, 0.9)},
            },
            "before": {
                "y": {"z": exponential(4.0, 0.5)},
                "x": {"z": exponential(8.0, 0.9), "y": exponential(5.0, 0.9)},
            },
        }
    }
}


def estimate_events(count: int) -> list[dict[str, Any]]:
    random, time, events = Random(7), 0, []
    for number in range(count):
        time += random.choice([0, 1, 1, 2, 5])
        events.append({"time": time, "tag": random.randrange(9), "v": random.randrange(3), "e": number})
    return events


@dataclass(frozen=True)
class EstimateProgram:
    """A statement `m` over the stream `s`, its events and its model."""

    text: str
    events: list[dict[str, Any]]
    model: dict[str, Any]
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    stream: str = "STREAM s (time INT, v INT, k INT, w INT, l INT) TIME time;"

    @property
    def program(self) -> str:
        return f"{self.stream} {self.text}"

    @property
    def until(self) -> int:
        return int(self.events[-1]["time"]) + 30


def estimate_program(random: Random, most: int = 3) -> EstimateProgram:
    """Sequences of two to `most` steps with at most one negated step; few values, so that steps overlap."""
    names = list("abcd")[: random.randint(2, most)]
    pattern, steps = _pattern(names, random)
    within = random.choice([4, 6, 10, 10, None])
    if within is None and pattern.endswith("!n"):
        within = 6
    by_value = random.random() < 0.4

    def condition(value: int) -> str:
        return f"v = {value} AND k = $k" if by_value else f"v = {value}"

    defined = {name: condition(random.choice([i, i, 0, 1])) for i, name in enumerate(names)}
    if "n" in steps:
        defined["n"] = condition(random.choice([0, 1, 9]))
    if "c" in defined and random.random() < 0.3:
        defined["c"] += " AND w >= a.w"
    losable = names if within is not None else names[1:-1] or names[1:]
    if within is None and losable == names[1:]:
        within = 8
    lossy = random.sample(losable, random.randint(1, len(losable)))
    lossy += ["n"] if "n" in steps and random.random() < 0.5 else []
    clauses = [
        f"SUBSCRIBE m FROM s {'PER l ' if random.random() < 0.3 else ''}MATCH {pattern}",
        f"DEFINE {', '.join(f'{name} AS {c}' for name, c in defined.items())}",
        "" if within is None else f"WITHIN {within}",
        "RETURN a.w AS x, count(b) AS y" if random.random() < 0.3 else "",
        f"LOSING 0.{random.randint(1, 5)} OF {', '.join(lossy)} ABOVE {random.choice([0, 0.05, 0.2])};",
    ]
    return EstimateProgram(" ".join(filter(None, clauses)), _events(random), _model(steps, random))


#: What AFTER MATCH may say; `a` is a step of all patterns.
_AFTER = ["", "CONSUME", "SKIP PAST LAST", "SKIP TO NEXT", "SKIP TO FIRST a", "SKIP TO LAST b"]

#: With the names of events, in order, and with ties.
_STREAMS = ["TIME time", "TIME time ID e", "TIME time ID e ORDER BY e", "TIME time ID e TIES SIMULTANEOUS"]

#: Conditions on steps that say more than which values they have.
_RELATIVE = {
    "b": ["prev.w <= w", "duration <= 4", "a.w <= w", "t(b) - t(a) <= 3", "count(b) = 1", "b.w >= 1", "w < :limit"],
    "c": ["prev.w <= w", "duration >= 2", "sum(b.w) <= 3", "t(c) - t(b) < 5", "first(b).w <= w", "$j = w"],
    "d": ["prev.w <> w", "w > c.w", "max(b.w) < 3", "$j = w"],
    "n": ["prev.w <= w", "duration <= 4", "w >= a.w", "w > b.w"],
}


def wide_program(random: Random, most: int = 3) -> EstimateProgram:
    """The same with everything else that statements have: AFTER MATCH, FOR EACH, conditions with `prev`, `duration`,
    aggregates and variables that only lost steps bind, `;{θ}`, ties, and statements before and after it."""
    names = list("abcd")[: random.randint(2, most)]
    pattern, steps = _pattern(names, random)
    if random.random() < 0.2:
        pattern = pattern.replace(", b", random.choice([";{w >= 1} b", ";{v = 1 OR w > a.w} b", ";{prev.k = k} b"]))
    within = random.choice([4, 6, 10, 10, None])
    if within is None and pattern.endswith("!n"):
        within = 6
    table = random.random() < 0.2
    conditions = {name: [f"v = {random.choice([i, i, 0, 1])}"] for i, name in enumerate(names)}
    if "n" in steps:
        conditions["n"] = [f"v = {random.choice([0, 1, 9])}"]
    for name, found in conditions.items():
        if name in _RELATIVE and random.random() < 0.5:
            found.append(random.choice([c for c in _RELATIVE[name] if "b" in names and (table or ":" not in c)]))
        if random.random() < 0.15:
            found.append("k = $k")
    lossy = random.sample(names, random.randint(1, len(names)))
    lossy += ["n"] if "n" in steps and random.random() < 0.5 else []
    defined = [f"{name} AS {' AND '.join(found)}" for name, found in conditions.items()]
    after = random.choice(_AFTER)
    source = "s" if random.random() < 0.8 else "h"
    clauses = [
        "SUBSCRIBE m",
        "FOR EACH limits" if table else "",
        f"FROM {source} {'PER l ' if random.random() < 0.3 else ''}MATCH {pattern}",
        f"DEFINE {', '.join(defined)}",
        "" if within is None else f"WITHIN {within}",
        "HAVING duration <= 8" if random.random() < 0.15 else "",
        f"AFTER MATCH {after}" if after else "",
        random.choice(["", "", "RETURN a.w AS v, a.k AS k, duration AS w, count(b) AS l"]),
        f"LOSING 0.{random.randint(1, 5)} OF {', '.join(lossy)} ABOVE {random.choice([0, 0.05, 0.2])};",
    ]
    texts = ["SUBSCRIBE h FROM s MATCH x RETURN x.v AS v, x.k AS k, x.w AS w, x.l AS l;"] if source == "h" else []
    texts.append(" ".join(filter(None, clauses)))
    if random.random() < 0.3:
        policy = random.choice(["", "WITHIN 9 AFTER MATCH SKIP PAST LAST"])
        texts.append(
            f"SUBSCRIBE r FROM m{', s' if random.random() < 0.4 else ''} MATCH p {random.choice(',;')} q {policy};"
        )
        if random.random() < 0.4:
            texts.append("SUBSCRIBE rr FROM r, m MATCH p+ , q WITHIN 6;")
    rows = [{"id": number, "limit": number} for number in range(3)] if table else []
    tables = {"limits": rows} if table else {}
    program = EstimateProgram(" ".join(texts), _events(random), _model(steps, random), tables)
    return replace(
        program, stream=program.stream.replace("l INT", "l INT, e INT").replace("TIME time", random.choice(_STREAMS))
    )


def _pattern(names: list[str], random: Random) -> tuple[str, list[str]]:
    parts, steps = names[0], [names[0]]
    for name in names[1:]:
        if "n" not in steps and random.random() < 0.3:
            parts += f" ; !n ; {name}"
            steps.append("n")
        else:
            parts += f" {random.choice([';', ';', ';', ','])} {name}"
        steps.append(name)
    if "n" not in steps and random.random() < 0.2:
        return f"{parts} ; !n", [*steps, "n"]
    return parts, steps


def _events(random: Random) -> list[dict[str, Any]]:
    time, events = 0, []
    for number in range(random.randint(3, 14)):
        time += random.choice([0, 1, 1, 1, 2, 4])
        values = {"v": random.choice([0, 1, 2, 3, 9]), "k": random.choice([1, 1, 2])}
        events.append({"time": time, **values, "w": random.randint(0, 3), "l": random.choice([1, 2]), "e": number})
    return events


def _model(steps: list[str], random: Random) -> dict[str, Any]:
    def delays(others: list[str]) -> dict[str, object]:
        return {other: exponential(random.choice([1.0, 2.0, 5.0]), random.choice([0.5, 0.9, 1.0])) for other in others}

    after = {step: delays(steps[:i]) for i, step in enumerate(steps) if i}
    before = {step: delays(steps[i + 1 :]) for i, step in enumerate(steps[:-1])}
    return {"subscriptions": {"m": {"after": after, "before": before}}}
