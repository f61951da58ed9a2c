"""The promise that only plan/strategy.py chooses how something runs, and that `explain` prints every choice."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import foretell
from foretell import parse
from foretell.events.types import Type
from foretell.language.checked import CheckedSubscription
from foretell.plan.explain import explain
from foretell.plan.strategy import KernelDecision, Strategy

SOURCE = Path(foretell.__file__).parent
CHOOSER = "plan/strategy.py"

#: The values that carry a choice: nothing else makes them.
CHOICES = {"Decision", "KernelDecision", "Strategy"}

#: The functions that choose, and the facts that they go by, with the modules that may use them: all of them plan,
#: explain a plan, or divide work on Spark by it.
USERS: Mapping[str, set[str]] = {
    "choose_strategy": {"plan/compile.py", "plan/explain.py", "plan/sharing_report.py"},
    "runs_without": {"recover/candidates.py", "recover/loss_automaton.py"},
    "narrowed_window": {"recover/hidden_patterns.py"},
    "choose_keys": {"plan/compile.py", "plan/kernel_report.py", "plan/single_nfa.py"},
    "choose_kernel": {"plan/lower/flatten.py", "plan/performance_hints.py"},
    "choose_detection": {"plan/lower/detection.py"},
    "choose_run_index": {"plan/lower/row_levels.py"},
    "choose_late_guards": {"plan/lower/flatten.py", "plan/filter_report.py"},
    "choose_executor": set(),
    "arrival_hindrance": set(),
    "as_recorded": {"plan/compile.py"},
    "serves_all_rows": {"spark/partitioning/statement_groups.py", "spark/batch/explain.py"},
    "selection_of": {"plan/template_selection.py"},
    "template_selection": {"plan/compile.py", "plan/template_selection.py"},
}

#: The objects that a choice selects, with the modules that make them, each by a value of an enum of strategy.
MAKERS: Mapping[str, set[str]] = {
    "NfaExecutor": {"machine/nfa_group.py"},
    "ArrivalExecutor": {"machine/nfa_group.py"},
    "ArrivalTracker": {"machine/nfa_group.py"},
    "AbsenceExecutor": {"machine/input_group.py"},
    "NfaGroup": {"machine/input_group.py"},
    "ProfileExecutor": {"machine/nfa_group.py"},
    "TemplateRows": {"machine/served_rows.py", "machine/template_rows.py"},
    "ProfiledRows": {"machine/served_rows.py", "machine/profiled_rows.py"},
    "TrieRows": {"machine/served_rows.py", "machine/trie_rows.py"},
}


def violations(path: str, source: str) -> Iterator[str]:
    """The lines of a module that choose, or use what only the chooser may use."""
    if path == CHOOSER:
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(names=names):
                for alias in names:
                    if path not in USERS.get(alias.name, {path}):
                        yield f"{path}:{node.lineno} imports {alias.name}"
            case ast.Call(func=function, args=arguments):
                called = (
                    {_name(function), *map(_name, arguments[:1])} if _name(function) == "partial" else {_name(function)}
                )
                for name in sorted(called & CHOICES):
                    yield f"{path}:{node.lineno} makes a {name}"
                for name in sorted(n for n in called if n in MAKERS and path not in MAKERS[n]):
                    yield f"{path}:{node.lineno} makes a {name}"


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr="of"):
            return name
    return ""


def test_nothing_else_chooses() -> None:
    found = [
        line
        for file in sorted(SOURCE.rglob("*.py"))
        for line in violations(file.relative_to(SOURCE).as_posix(), file.read_text())
    ]
    assert found == []


def test_the_lint_can_fail() -> None:
    text = "from foretell.plan.strategy import choose_executor\nx = Decision(1, 'why')\ny = partial(NfaExecutor, nfa)\n"
    assert list(violations("machine/runtime.py", text)) == [
        "machine/runtime.py:1 imports choose_executor",
        "machine/runtime.py:2 makes a Decision",
        "machine/runtime.py:3 makes a NfaExecutor",
    ]


def test_every_module_of_the_lint_exists() -> None:
    for path in {CHOOSER}.union(*USERS.values(), *MAKERS.values()):
        assert (SOURCE / path).exists(), path


#: The line of `explain` for each field of a choice.
LINES = {
    "executor": "executor",
    "sharing": "sharing",
    "template": "template",
    "observation": "observed by",
    "kernel": "kernel",
    "reverse_scan": "reverse scan",
}
FACTS = {"shape"}  # not a choice, but what the kernel was chosen by


def test_explain_prints_every_choice() -> None:
    assert {f.name for kind in (Strategy, KernelDecision) for f in fields(kind)} - FACTS == set(LINES)
    text = """STREAM s (t INT, v INT) TIME t;
    SUBSCRIBE w FOR EACH rows FROM s MATCH a , b FORECAST WITHIN 5 EVENTS ABOVE 0.5;"""
    types = {"rows": {"id": Type.INT, "v": Type.INT}}
    (subscription,) = parse(text).checked(tables=types).statements
    assert isinstance(subscription, CheckedSubscription)
    printed = {choice.subject for choice in explain(subscription, types["rows"]).choices}
    assert printed == {*LINES.values(), "detection"}
