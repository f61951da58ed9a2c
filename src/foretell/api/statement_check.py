"""`ft.check`: whether statements make sense, what they depend on, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from foretell.api.engine_choice import is_spark_frame
from foretell.arguments.input_settings import InputSettings, as_input_settings
from foretell.arguments.statements import SubscriptionsLike, as_subscriptions
from foretell.arguments.streams import observed_schema, read_inputs, read_tables
from foretell.arguments.validation import as_mapping, as_tables, bad_argument
from foretell.check.assumed_schemas import with_assumed_schemas
from foretell.check.comparison import StatementComparison, compare, compared_program
from foretell.check.costs.figures import StatementFigures
from foretell.check.deadline import Deadline
from foretell.check.dependencies import dependencies_of
from foretell.check.program import CheckSettings, check_program
from foretell.check.report import CheckReport
from foretell.errors import InputError
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.types import Type
from foretell.extras import require_extra
from foretell.language.checked import CheckedProgram
from foretell.language.subscriptions import Subscriptions

if TYPE_CHECKING:
    from foretell.events.ingest.reader import EventBatch
    from foretell.events.ingest.template_tables import TemplateTable

#: The seconds that a check takes at most, and those that one statement takes.
SECONDS, STATEMENT_SECONDS = 60.0, 5.0


def check(
    subscriptions: SubscriptionsLike,
    *,
    against: SubscriptionsLike | None = None,
    inputs: Mapping[str, object] | None = None,
    time: Mapping[str, str] | str | None = None,
    read: ReadOptions | Mapping[str, ReadOptions] | None = None,
    tables: Mapping[str, object] | None = None,
    costs: bool = False,
    seconds: float = SECONDS,
    statement_seconds: float = STATEMENT_SECONDS,
) -> CheckReport:
    """Check whether statements make sense.

    The report has findings, each with its place in the text, a hint, and where events can show it a witness: the
    shortest sequence of events that does. `-- check: allow CODE` in the text silences a finding.

    `against` are statements to compare with: those of the same name, or the only one of each. `costs` adds notes on
    what statements cost. With `inputs`, a sample of events as for `ft.run` (`time`, `read` and `tables` are as there),
    the notes come with figures that are measured on it.

    A check takes at most `seconds`, and for a single statement or comparison at most `statement_seconds`: what is not
    decided by then is in `undecided` or `unasked`.

    >>> check("SUBSCRIBE m FROM s MATCH a , b DEFINE a AS x > 5 AND x < 3;")
    1 finding in 1 statement
      line  code           statement  message
      1:54  contradiction  m          no event can be 'a', so 'm' never matches: x …
    """
    require_extra("check", "a check of statements")
    program = as_subscriptions(subscriptions)
    other = None if against is None else as_subscriptions(against)
    _check_options(costs, seconds, statement_seconds)
    deadline = Deadline(seconds)
    rows = _tables([program] if other is None else [program, other], tables, needed=inputs is not None)
    parameters = {name: table.types for name, table in rows.items()}
    batches = _sample(program, inputs, as_input_settings(time, read))
    checked = _checked(program, batches, parameters)
    closed = with_assumed_schemas(program.program, checked, parameters)
    settings = CheckSettings(statement_seconds, costs or inputs is not None, parameters)
    found = check_program(program, closed, deadline, settings)
    comparisons: tuple[StatementComparison, ...] = ()
    other_closed = None
    if other is not None:
        other_closed = with_assumed_schemas(other.program, _checked(other, batches, parameters), parameters)
        sides = compared_program(closed, program.file), compared_program(other_closed, other.file)
        comparisons = tuple(compare(*sides, deadline, statement_seconds))
    return CheckReport(
        statements=program.statements,
        findings=found.findings,
        notes=found.notes,
        undecided=found.undecided,
        unasked=found.unasked,
        silenced=found.silenced,
        comparisons=comparisons,
        dependencies=dependencies_of(program.program, checked),
        figures=_figures(checked, batches, rows, deadline, statement_seconds),
        text=program.text,
        file=program.file,
        program=closed.program,
        against=None if other_closed is None else other_closed.program,
    )


def _check_options(costs: object, seconds: object, statement_seconds: object) -> None:
    if not isinstance(costs, bool):
        raise bad_argument("costs", "True or False", costs)
    for name, value in {"seconds": seconds, "statement_seconds": statement_seconds}.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (0 < value < math.inf):  # type: ignore[operator]  # it is a number
            raise bad_argument(name, "a number of seconds above 0", value)


def _tables(programs: Sequence[Subscriptions], tables: object, *, needed: bool) -> dict[str, TemplateTable]:
    """The FOR EACH tables that are given; a run on a sample needs all those of the first program."""
    given = as_tables(tables)
    first, *others = ([name for name in program.tables if name in given] for program in programs)
    wanted = list(programs[0].tables) if needed else first
    return read_tables(dict.fromkeys([*wanted, *(name for names in others for name in names)]), given)


def _sample(program: Subscriptions, inputs: object, settings: InputSettings) -> dict[str, EventBatch]:
    if inputs is None:
        return {}
    sources = as_mapping(inputs, "inputs", "inputs={'logins': 'logins.jsonl'}")
    if any(map(is_spark_frame, sources.values())):
        hint = "pass a part of it: frame.limit(100_000).toPandas()"
        raise InputError("not-on-frames", "inputs: a Spark DataFrame is no sample", hint=hint)
    return read_inputs(program, sources, settings, strict=False)


def _checked(
    program: Subscriptions, batches: Mapping[str, EventBatch], parameters: Mapping[str, Mapping[str, Type]]
) -> CheckedProgram:
    """The checked program, with the schemas of the sample where there is one."""
    schemas = {name: observed_schema(batch) for name, batch in batches.items()}
    known = {name: types for name, types in parameters.items() if name in program.tables}
    return program.checked(schemas or None, known)


def _figures(
    checked: CheckedProgram,
    batches: Mapping[str, EventBatch],
    tables: Mapping[str, TemplateTable],
    deadline: Deadline,
    seconds: float,
) -> tuple[StatementFigures, ...]:
    if not batches:
        return ()
    from foretell.api.sample_costs import sample_costs  # loads Numba, which takes a while

    return tuple(sample_costs(checked, batches, tables, deadline, seconds))
