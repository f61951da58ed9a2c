"""Plans are values: extending or reducing one leaves it as it was, and shares most of it with the next."""

from __future__ import annotations

import random
from collections.abc import Sequence

from foretell import parse
from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.compile import GroupRecord, InputGroupRecord, PlanCompiler
from foretell.plan.explain import Codes
from foretell.plan.match_plan import AbsencePlan, MatchPlan, NfaGroupPlan
from foretell.plan.persistent_map import PersistentMap
from foretell.plan.strategy import TemplateMode

STREAM = "STREAM ticks (ts INT, name STRING, price FLOAT, volume INT) TIME ts;\n"
TABLES = {"limits": {"id": Type.INT, "v": Type.INT}}


def subscriptions(*patterns: str) -> list[CheckedSubscription]:
    text = "".join(f"SUBSCRIBE s{i} {pattern};" for i, pattern in enumerate(patterns))
    found = parse(STREAM + text).checked(tables=TABLES).statements
    return [s for s in found if isinstance(s, CheckedSubscription)]


def compiled(statements: Sequence[CheckedSubscription]) -> MatchPlan:
    return PlanCompiler(Codes()).extend(MatchPlan({}, {}), statements, TABLES)


def group_of(plan: MatchPlan, name: str) -> NfaGroupPlan:
    group = plan.input_of(name).group_of(name)
    assert isinstance(group, NfaGroupPlan)
    return group


def test_statements_with_the_same_from_and_per_are_one_input_group() -> None:
    plan = compiled(
        subscriptions("FROM ticks MATCH a , b", "FROM ticks PER name MATCH a , b", "FROM ticks MATCH a , c")
    )
    assert [list(group.statements) for group in plan.inputs.values()] == [["s0", "s2"], ["s1"]]
    assert group_of(plan, "s0") is group_of(plan, "s2")


def test_a_plan_that_is_extended_stays_as_it_was() -> None:
    first, *others = subscriptions("FROM ticks MATCH a , b", "FROM ticks MATCH a , b , c", "FROM ticks MATCH a ; b")
    item = compiled([first])
    before = group_of(item, "s0")
    two = PlanCompiler(Codes()).extend(item, others)
    assert [s.name for s in item.statements] == ["s0"]
    assert [s.name for s in two.statements] == ["s0", "s1", "s2"]
    assert group_of(item, "s0") is before
    assert (len(before.members), len(group_of(two, "s0").members)) == (1, 2)
    assert group_of(two, "s2") is not group_of(two, "s0")
    reduced = two.without("s0")
    assert [s.name for s in reduced.statements] == ["s1", "s2"]
    assert group_of(reduced, "s1").moves == (0, 1, ~0)
    assert [s.name for s in two.statements] == ["s0", "s1", "s2"]
    assert not reduced.without("s1").without("s2").inputs


def test_one_compiled_nfa_serves_each_row_of_a_template() -> None:
    plan = compiled(subscriptions("FOR EACH limits FROM ticks MATCH a , b DEFINE b AS volume > :v AFTER MATCH CONSUME"))
    (statement,) = plan.statements
    assert statement.runs_by_row
    assert group_of(plan, "s0").selection is None
    plan = compiled(subscriptions("FOR EACH limits FROM ticks MATCH a , b DEFINE a AS volume > :v"))
    assert not next(plan.statements).runs_by_row
    assert group_of(plan, "s0").selection is not None


def test_an_absence_alone_has_no_nfa() -> None:
    plan = compiled(subscriptions("FROM ticks MATCH !a WITHIN 5"))
    assert isinstance(plan.input_of("s0").group_of("s0"), AbsencePlan)


def test_a_plan_is_restored_with_the_numbers_it_had() -> None:
    """Snapshots refer to states and slots by numbers, which depend on who joined and left before."""
    statements = subscriptions(
        "FROM ticks MATCH a , b DEFINE b AS volume > 3",
        "FROM ticks MATCH a , b , c DEFINE b AS volume > 3, c AS price > 9.0",
        "FROM ticks MATCH a ; b WITHIN 5",
        "FROM ticks MATCH !a WITHIN 5",
        "FROM ticks MATCH a , b , c DEFINE b AS volume > 4, c AS price > a.price",
    )
    plan = compiled(statements[:2]).without("s0")
    plan = PlanCompiler(Codes()).extend(plan, statements[2:])
    (group,) = plan.inputs.values()
    records = tuple(
        GroupRecord(
            nfa.kind, tuple((str(n), text) for n, text in nfa.record()), nfa.moves, TemplateMode.EXECUTOR_PER_ROW, False
        )
        for nfa in group.nfa_groups
    )
    program = parse(STREAM + "SUBSCRIBE s0 FROM ticks MATCH a , b DEFINE b AS volume > 3;").checked()
    now = [s for s in statements if s.name != "s0"]
    restored = PlanCompiler(Codes()).restore(
        type(program)(program.streams, tuple(now), {}),
        [InputGroupRecord(tuple(group.statements), records)],
        lambda _: statements[0],
        {},
    )
    for name in group.statements:
        if name != "s3":
            mine, theirs = group_of(restored, name), group_of(plan, name)
            assert mine.moves == theirs.moves
            assert mine.members.keys() == theirs.members.keys()
            if mine.nfa is not None and theirs.nfa is not None:
                assert (mine.nfa.states, mine.nfa.edges) == (theirs.nfa.states, theirs.nfa.edges)
    assert [s.number for s in restored.statements] == [s.number for s in plan.statements]


def test_persistent_maps_are_as_dicts() -> None:
    chance = random.Random(3)
    versions: list[tuple[PersistentMap[int, int], dict[int, int]]] = [(PersistentMap(), {})]
    for step in range(2_000):
        persistent, plain = chance.choice(versions[-20:])
        key = chance.randrange(600)
        if key in plain and chance.random() < 0.4:
            versions.append((persistent.without(key), {k: v for k, v in plain.items() if k != key}))
        else:
            added = {key: step, key + 1: step}
            versions.append((persistent.updated(added), plain | added))
    for persistent, plain in versions[::50]:
        assert list(persistent.items()) == list(plain.items())
        assert len(persistent) == len(plain)
