"""Engine snapshots: a deployment to bytes and back, also to a deployment with other statements."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from foretell.arguments.input_settings import InputSettings
from foretell.engine.deployment import Deployment
from foretell.engine.input_registry import InputRegistry
from foretell.engine.live_tables import LiveTable, live_tables
from foretell.engine.settings import EngineSettings
from foretell.errors import ForetellError, InputError
from foretell.language import tree
from foretell.language.parser import parse as parse_text
from foretell.language.pattern_shape import has_optional_after_negation
from foretell.language.printer import program_text
from foretell.language.statement_diff import StatementDiff, readers_first, statement_diff
from foretell.language.statement_registry import StatementRegistry
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.records import record
from foretell.storage.blob import pack, unpack
from foretell.storage.recorded_values import UnfitValueError

#: The version of the snapshot layout. An engine reads this version and all earlier ones. Since 3 a negation before a
#: part that can be empty stays where that part is left out (decision 0002, item 8), so such patterns have other states.
#: Since 4 the rows of FOR EACH tables are columns in Arrow.
LAYOUT = 4


def take_snapshot(deployment: Deployment) -> bytes:
    """The statements, tables, settings and the pipeline's state. The keys are part of the layout."""
    program = deployment.registry.subscriptions().program
    state: dict[str, Any] = {
        "statements": program_text(program),
        "tables": {str(name): table.state() for name, table in deployment.tables.items()},
        "inputs": deployment.inputs.state(),
        **deployment.settings.state(),
        "work": None,
    }
    if deployment.pipeline is not None:
        assert deployment.checker is not None
        ranks = {str(name): rank for name, rank in deployment.checker.ranks.items()}
        state["work"] = {
            "ranks": sorted(ranks, key=ranks.__getitem__),
            "waiting": deployment.pipeline.buffer.state(),
            "running": deployment.pipeline.runtime.state(),
        }
    return pack("engine", {"layout": LAYOUT, "statements": _fingerprint(program)}, state)


@record
class RestoreRequest:
    """The arguments of `Engine.restore`, validated. None, or a name that is left out, stands for the snapshot's."""

    subscriptions: Subscriptions | None
    inputs: InputSettings
    tables: Mapping[str, object]
    limits: Limits
    model: Model | None
    learning: Learning | None


def restore_snapshot(snapshot: bytes, request: RestoreRequest) -> tuple[Deployment, StatementDiff]:
    """The deployment as requested, and how its statements differ from those of the snapshot."""
    header, state = unpack(snapshot, "engine")
    layout = header.get("layout", LAYOUT)
    if type(layout) is not int:
        raise _unusable("it has unexpected contents")
    if layout > LAYOUT:
        message = f"the snapshot has layout {layout}, this version of Foretell reads layouts up to {LAYOUT}"
        raise InputError("newer-snapshot", message, hint="restore it with the version that made it, or a newer one")
    requested = request.subscriptions
    unchanged = requested is not None and _fingerprint(requested.program) == header.get("statements")
    before = _restored(layout, state, requested if unchanged else None, request)
    return _Migration(before, requested or before.registry.subscriptions(), request.inputs, request.tables).migrate()


def _restored(
    layout: int, state: Mapping[str, Any], unchanged: Subscriptions | None, request: RestoreRequest
) -> Deployment:
    """The deployment as it was when the snapshot was taken, but for forecasts where a new model is given."""
    try:
        settings = EngineSettings.restore(state, request.limits, request.model, request.learning)
        text = state["statements"]
        registry = StatementRegistry(unchanged or Subscriptions(parse_text(text), text))
        tables = {name: LiveTable.restore(name, table) for name, table in state["tables"].items()}
        deployment = Deployment(
            registry, InputRegistry.restore(registry, state["inputs"], request.inputs.read), tables, settings
        )
        if state["work"] is not None:
            if layout < 3:
                _refuse_other_states(registry)
            deployment.resume(state["work"], anew=request.model is not None)
    except ForetellError as error:
        raise _unusable(str(error)) from None
    except UnfitValueError as error:
        raise _unusable(str(error)) from None
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError, ArithmeticError, RecursionError):
        raise _unusable("it has unexpected contents") from None
    except (pa.ArrowException, OSError):  # where bytes are missing Arrow raises an OSError
        raise _unusable("its events cannot be read") from None
    return deployment


@record
class _Migration:
    """Changes a restored deployment to the requested statements, time columns and tables."""

    deployment: Deployment
    requested: Subscriptions
    inputs: InputSettings
    given_tables: Mapping[str, object]

    def migrate(self) -> tuple[Deployment, StatementDiff]:
        deployment, registry = self.deployment, StatementRegistry(self.requested)
        inputs, tables = self._input_settings(), self._requested_tables(registry)
        old_tables = deployment.tables
        retyped = [n for n, table in tables.items() if n in old_tables and table.types != old_tables[n].types]
        diff = statement_diff(deployment.registry, registry, retyped)
        if not diff.carried and (diff.fresh or diff.dropped or diff.streams):
            return Deployment(registry, InputRegistry(registry, inputs), tables, deployment.settings), diff
        deployment.inputs.settings = inputs
        self._replace_statements(diff, registry, tables)
        return deployment, diff

    def _input_settings(self) -> InputSettings:
        known = self.deployment.inputs.time
        for name, column in self.inputs.time.items():
            if known.get(name, column) != column:
                message = f"the time column of stream '{name}' is '{known[name]}' in the snapshot, not '{column}'"
                raise InputError("time-twice", message)
        return replace(self.inputs, time={**known, **self.inputs.time})

    def _requested_tables(self, registry: StatementRegistry) -> dict[str, LiveTable]:
        """The given tables, and the others from the snapshot."""
        kept = {name: table for name, table in self.deployment.tables.items() if name not in self.given_tables}
        given = live_tables(
            [name for name in registry.templates if name not in kept],
            self.given_tables,
            self.deployment.settings.limits,
        )
        return {name: given[name] if name in given else kept[name] for name in registry.templates}

    def _replace_statements(
        self, diff: StatementDiff, registry: StatementRegistry, tables: Mapping[str, LiveTable]
    ) -> None:
        deployment, carried = self.deployment, set(diff.carried)
        old = deployment.registry
        for stream in diff.streams:
            self._refuse_buffered(stream)
        for name in readers_first([n for n in old.derived if n not in carried], old):
            deployment.remove(name)
        for name in [n for n in old.by_name if n not in carried and (n in diff.streams or n not in registry)]:
            deployment.remove(name)
        for stream in diff.streams:
            deployment.remove_stream(stream)
        for name, table in deployment.tables.items():
            if tables[name] is not table:
                deployment.replace_rows(table, tables[name])
        fresh = tuple(s for s in self.requested.program.statements if s.name not in old)
        new_tables = {name: table for name, table in tables.items() if name not in deployment.tables}
        deployment.add(Subscriptions(tree.Program(fresh), self.requested.text, self.requested.file), new_tables)
        deployment.replace_registry(registry)

    def _refuse_buffered(self, stream: str) -> None:
        pipeline = self.deployment.pipeline
        if pipeline is not None and pipeline.buffer.has_events(stream):
            message = f"the declaration of stream '{stream}' has changed, and the snapshot holds back events of it"
            raise InputError("changed-stream", message, hint="call end() before the snapshot to release them")


def _refuse_other_states(statements: StatementRegistry) -> None:
    """Partial matches from before layout 3 cannot go on where a negation stands before a part that can be empty."""
    for statement in statements.subscriptions().program.statements:
        if isinstance(statement, tree.Subscription) and has_optional_after_negation(statement.pattern):
            raise InputError(
                "unusable-snapshot",
                f"the pattern of '{statement.name}' has had another meaning since the snapshot: a negation before a "
                "part that can be empty now stays where that part is left out",
            )


def _unusable(why: str) -> InputError:
    hint = "another version of Foretell may have made it; start a new engine without it"
    return InputError("unusable-snapshot", f"cannot restore the snapshot: {why}", hint=hint)


def _fingerprint(program: tree.Program) -> str:
    return hashlib.sha256(program_text(program).encode("utf-8", "surrogatepass")).hexdigest()
