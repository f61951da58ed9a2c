"""Large and nasty correlators: each is refused, or parsed, checked, explained, run, stored and restored, within the
bounds."""

from __future__ import annotations

from random import Random

from tests.fuzz.large_statements import STREAM, through

COUNTS = (1, 2, 3, 255, 257, 10**6, 10**9)


class CorrelatorWriter:
    """Draws a correlator. `steps` is what is left of the steps that it may have."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.steps = chance.choice([3, 10, 30, 100, 1000, 5000])
        self.several = chance.choice([2, 3, 20, 300, 5000])
        self.deepest = chance.choice([2, 4, 12, 60, 140])
        self.names: set[str] = set()
        self.has_rows = chance.random() < 0.3

    def statement(self) -> str:
        per = self.chance.choice(["", " PER k"])
        expression = self.expression(0)
        define = ", ".join(f"{name} AS {self.condition()}" for name in sorted(self.names))
        each = " FOR EACH rows" if self.has_rows else ""
        return f"CORRELATE p{each} FROM s{per} DO repeat{{push('done'){{{expression}}}}} DEFINE {define};"

    def expression(self, depth: int) -> str:
        chance = self.chance
        if depth >= self.deepest or self.steps <= 1 or chance.random() < 0.1:
            return self.step()
        kind = chance.choice(["repeat", "persist", "loop"])
        match chance.randrange(9):
            case 0 | 1:
                several = chance.choice(["accumulate", "select", "select*", "sequential", "parallel"])
                return f"{several}{{{', '.join(self.parts(depth))}}}"
            case 2 | 3:
                return f"do{{{self.expression(depth + 1)}}} unless{{{self.expression(depth + 1)}}}"
            case 4:
                return f"{kind}({chance.choice(COUNTS)}){{{self.expression(depth + 1)}}}"
            case 5:
                return f"{kind}{{{self.expression(depth + 1)}}}"
            case 6:
                return " ".join(f"in({self.step()}) do{{{part}}}" for part in self.parts(depth))
            case 7:
                return f"push('{chance.choice('xyz')}'){{{self.expression(depth + 1)}}}"
        return f"fail{{{self.expression(depth + 1)}}}"

    def parts(self, depth: int) -> list[str]:
        parts = [self.expression(depth + 1)]
        most = self.chance.randint(2, self.several)
        while len(parts) < most and self.steps > 0:
            parts.append(self.expression(depth + 1) if self.chance.random() < 0.3 else self.step())
        return parts

    def step(self) -> str:
        self.steps -= 1
        name = f"a{self.chance.randrange(self.chance.choice([3, 3, 20, 5000]))}"
        self.names.add(name)
        return name

    def condition(self) -> str:
        chance = self.chance
        if self.has_rows and chance.random() < 0.5:
            return chance.choice(["v = :v", "v > :v", "k = :k", "k = :k AND v + w < :v", "v = :v OR w > 0.5"])
        return chance.choice(
            [f"v = {chance.randrange(6)}", f"v > {chance.randrange(6)}", f"k = '{chance.choice('xyz')}'", "w < 2"]
        )


def prepare(numbers: range) -> None:
    """Warm the kernels of both forms."""
    for rounds in (2, 1000):
        for per in ("", " PER k"):
            text = f"CORRELATE p FROM s{per} DO repeat{{push('x'){{repeat({rounds}){{a}}}}}} DEFINE a AS v > 1;"
            through(STREAM + text, Random(0))
    row = {"id": 1, "v": 1, "k": "x"}
    text = "CORRELATE p FOR EACH rows FROM s DO repeat{push('x'){a}} DEFINE a AS v > :v AND k = :k;"
    through(STREAM + text, Random(0), tables={"rows": [row]})
    for number in numbers[:20]:
        run(number, None)


def run(number: int, prepared: object) -> str:
    chance = Random(number)
    writer = CorrelatorWriter(chance)
    text = STREAM + writer.statement()
    rows = [{"id": n, "v": chance.randrange(6), "k": chance.choice("xyz")} for n in range(chance.choice([1, 3, 300]))]
    return through(text, chance, tables={"rows": rows} if writer.has_rows else None)
