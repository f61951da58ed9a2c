"""Large and nasty statements with LOSING, and models of delays for them."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

#: Times in the unit of the stream: from far shorter than a window to far longer.
TIMES = (1e-9, 1e-3, 0.5, 1.0, 3.0, 10.0, 400.0, 1e9)


def losing_statement(chance: Random) -> tuple[str, dict[str, Any] | None]:
    """A subscription `p` of the stream `s`, and its model or none."""
    names = [f"a{n}" for n in range(chance.choice([1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 10, 12, 40, 101]))]
    negated = {name for name in names[1:] if chance.random() < chance.choice([0.0, 0.2, 0.2, 0.9])}
    pattern = _pattern(names, negated, chance)
    positive = [name for name in names if name not in negated]
    defined = [f"{name} AS {_condition(name, names, chance)}" for name in names if chance.random() < 0.95]
    clauses = [
        f"SUBSCRIBE p FROM s{chance.choice(['', '', ' PER k'])} MATCH {pattern}",
        f"DEFINE {', '.join(defined)}" if defined else "",
        f"WITHIN {chance.choice([1, 5, 20, 50, 50, 10**6, 10**15])}" if chance.random() < 0.85 else "",
        f"HAVING count({positive[-1]}) = 1" if chance.random() < 0.1 else "",
        chance.choice(["", "", "AFTER MATCH CONSUME", "AFTER MATCH SKIP PAST LAST", "AFTER MATCH SKIP TO NEXT"]),
        f"RETURN {positive[0]}.v AS x, duration AS y" if chance.random() < 0.2 else "",
        _losing(names, chance),
    ]
    return f"{' '.join(filter(None, clauses))};", _model(names, chance)


def _pattern(names: list[str], negated: set[str], chance: Random) -> str:
    others = chance.choice([0.0, 0.0, 0.1, 0.5])
    parts = [names[0]]
    for before, name in pairwise(names):
        operator = ";"
        if chance.random() < others and not {before, name} & negated:
            operator = chance.choice([",", ";{v > 1}", f";{{v >= {names[0]}.v}}"])
        step = f"!{name}" if name in negated else name
        if name not in negated and chance.random() < 0.05:
            step += f" @(t({name}) - t({names[0]}) < {chance.choice([1, 3, 30])})"
        parts.append(f"{operator} {step}")
    return " ".join(parts)


def _condition(name: str, names: list[str], chance: Random) -> str:
    other, value = chance.choice(names), int(name[1:]) % 6
    return chance.choice(
        [f"v = {value}"] * 6
        + [f"v = {value} AND k = $x", f"v = {value} AND w <= {other}.w", f"v >= {value}", "v > prev.v", "duration < 9"]
    )


def _losing(names: list[str], chance: Random) -> str:
    items = []
    if chance.random() < 0.6:
        items.append(f"{chance.choice([0, 0.001, 0.05, 0.05, 0.3, 0.999, 1])}")
    if not items or chance.random() < 0.4:
        lossy = chance.sample(names, chance.randint(1, min(len(names), 12)))
        items.append(f"{chance.choice([0, 0.05, 0.4, 1])} OF {', '.join(lossy)}")
    above = chance.choice([0, 0, 0, 0.01, 0.1, 0.5, 0.8, 1])
    return (
        f"LOSING {', '.join(items)} ABOVE {above}{chance.choice([''] * 6 + [' SCORE INDEPENDENT', ' SCORE PUBLISHED'])}"
    )


def _model(names: list[str], chance: Random) -> dict[str, Any] | None:
    if chance.random() < 0.15:
        return None
    one = _delay(chance) if chance.random() < 0.5 else None
    all_known, known = chance.random() < 0.6, chance.choice([1.0, 1.0, 1.0, 0.9])

    def by_step(others: dict[str, list[str]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, beside in others.items():
            if not all_known:
                found[name] = one or _delay(chance)
                continue
            found[name] = {other: one or _delay(chance) for other in beside if chance.random() < known}
        return {name: delays for name, delays in found.items() if delays}

    after = {name: [*names[:n], *([f"next {name}"] if n % 5 == 2 else [])] for n, name in enumerate(names) if n}
    before = {name: names[n + 1 :] for n, name in enumerate(names[:-1])}
    return {"subscriptions": {"p": {"after": by_step(after), "before": by_step(before)}}}


def _delay(chance: Random) -> dict[str, Any]:
    time, share = chance.choice(TIMES), chance.choice([0, 0.001, 0.5, 0.8, 1, 1])
    match chance.randrange(8):
        case 0 | 1:
            delay = {"distribution": "exponential", "mean": time}
        case 2:
            delay = {"distribution": "gamma", "shape": chance.choice([0.1, 2, 2, 500]), "scale": time}
        case 3:
            delay = {"distribution": "weibull", "shape": chance.choice([0.2, 1.5, 1.5, 50]), "scale": time}
        case 4 | 5:
            delay = {"distribution": "lognormal", "median": time, "sigma": chance.choice([1e-3, 0.03, 0.5, 1, 4])}
        case 6:
            delay = {"distribution": "uniform", "low": chance.choice([0, time / 2, 0.999 * time]), "high": time}
        case _:
            count, first = chance.choice([1, 5, 20, 300, 3_000]), chance.choice([0.0, 0.0, 0.5])
            points = [[time * n / count, first + (1 - first) * n / count] for n in range(count + 1)]
            delay = {"distribution": "points", "points": points}
    return {**delay, "share": share}
