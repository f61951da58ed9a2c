"""Result stages: the results of hidden statements become those of a statement that runs as several patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from foretell.arrays import Ints
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.template_tables import TemplateTable
from foretell.events.notification import Notification
from foretell.events.types import Scalar
from foretell.filter.string_dictionary import StringDictionary, Texts
from foretell.machine.exec.observation import Observation
from foretell.machine.input.event_buffer import EventSegment
from foretell.machine.input.lane_keys import LaneKeys
from foretell.machine.input.merged_stream import MergedStream
from foretell.machine.input.revisions import LateInput
from foretell.machine.input.state_bounds import StateBounds
from foretell.machine.matches.results import ResultBatch
from foretell.machine.matches.uncertainty import split_by_certainty
from foretell.plan.result_schema import ResultSchema
from foretell.records import record


@record
class ReportedEstimate:
    """An estimate that was reported and is neither confirmed nor withdrawn. `settle` says whether it happened, and
    gives the result."""

    notification: Notification
    settle: Callable[[bool], ResultBatch]


@record
class ObservedResults:
    """A statement with a result stage as forecasts observe it: the configuration after each event of a batch, and the
    results that they forecast. `schema` is that of the statement."""

    observation: Observation
    results: list[ResultBatch]
    schema: ResultSchema


class ResultStage:
    """Makes the results of a statement from those of the `patterns` that run for it, of which the first has its name.
    `subscription` is the statement as the user has written it, of which the machine knows nothing.

    What few stages need is here as a stage without it has it.
    """

    subscription: Any
    patterns: Sequence[str]
    store = "estimates"  # the name of what its memory has, in errors

    def process(self, results: Sequence[ResultBatch], now: int | float, /) -> list[ResultBatch]:
        """The results of the statement, from those of its patterns in a batch."""
        raise NotImplementedError

    def observed(self, segment: EventSegment, row_id: Scalar, /) -> ObservedResults:
        """The statement, or a row of it, as forecasts observe it after each event of the batch processed last."""
        raise NotImplementedError

    def state(self) -> Mapping[str, Any]:
        raise NotImplementedError

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None, /) -> None:
        """Continue from a snapshot; `like` is an empty result over the present events, keys and texts, None where
        nothing runs."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        return 0

    def prepare(self, strings: StringDictionary, /) -> None:
        """Learn the codes of the texts that its results have."""

    @property
    def held(self) -> Iterable[ResultBatch]:
        """The results that may have to be shown once more: their events, lanes and texts are needed."""
        return ()

    def renew(self, renewed: Callable[[ResultBatch], ResultBatch], /) -> None:
        """Continue with held results that show the present keys and texts."""

    def needed_lanes(self) -> Ints:
        """The lanes that it has state of, beside those of `held`."""
        return np.zeros(0, np.int64)

    def free_lanes(self, freed: Ints, /) -> None:
        """Go on without lanes that nothing needs; their numbers may be given to others."""

    def late(self, late: LateInput, stream: MergedStream, /) -> list[ResultBatch]:
        """The results that were reported before, and that late events confirm or withdraw."""
        return []

    def reported(self, stream: MergedStream, now: int | float, /) -> Iterator[ReportedEstimate]:
        """The results that were reported before and may be confirmed or withdrawn at a time."""
        return iter(())

    def take_begun(self) -> int:
        """How many more lanes of its own it has since the last call, beyond those of the events."""
        return 0

    def texts(self) -> Iterable[Ints]:
        """The codes of texts besides those in held results."""
        return ()

    def add_rows(self, table: TemplateTable, /) -> None:
        """Run more rows of a template, from the next event on."""
        raise NotImplementedError

    def remove_rows(self, ids: ArrowArray, /) -> None:
        """Forget rows of a template."""

    def learned(self) -> Mapping[str, object]:
        """The parts of a model file that the run has learned."""
        return {}

    def take_notes(self) -> Sequence[str]:
        """Notes for the user since the last call."""
        return ()


class ResultStages(dict[str, ResultStage]):
    """The stages of an input group, by their statements."""

    @property
    def stores(self) -> dict[str, int]:
        """The memory of the stages, by what it is."""
        stores: dict[str, int] = {}
        for stage in self.values():
            stores[stage.store] = stores.get(stage.store, 0) + stage.nbytes
        return stores

    @property
    def held(self) -> Iterator[ResultBatch]:
        return (result for stage in self.values() for result in stage.held)

    @property
    def lanes(self) -> Iterator[Ints]:
        """The lanes that cannot be freed."""
        yield from (result.lane for result in self.held)
        yield from (stage.needed_lanes() for stage in self.values())

    @property
    def referenced(self) -> Iterator[Ints]:
        """The positions of the events that held results refer to."""
        return (result.bound_events.position for result in self.held)

    def texts(self) -> Iterator[Ints]:
        """The codes of all texts that stages hold."""
        for result in self.held:
            yield from result.texts(())
        for stage in self.values():
            yield from stage.texts()

    def free_lanes(self, freed: Ints) -> None:
        for stage in self.values():
            stage.free_lanes(freed)

    def renew(self, keys: LaneKeys, texts: Texts) -> None:
        for stage in self.values():
            stage.renew(lambda result: replace(result, keys=keys, strings=texts))

    def process(self, results: list[ResultBatch], now: int | float) -> list[ResultBatch]:
        """The results with those of hidden statements made into their statement's, and estimates apart from matches."""
        for stage in self.values():
            hidden = set(stage.patterns)
            own = [result for result in results if result.schema.name in hidden]
            results = [result for result in results if result.schema.name not in hidden] + stage.process(own, now)
        if not any(result.schema.uncertain for result in results):
            return results
        return [part for result in results for part in _by_certainty(result)]

    def take_begun(self) -> int:
        return sum(stage.take_begun() for stage in self.values())

    def take_notes(self) -> list[str]:
        return [note for stage in self.values() for note in stage.take_notes()]

    def remove_rows(self, pattern: str, ids: ArrowArray) -> None:
        """Forget rows of the template that has this pattern."""
        for stage in self.values():
            if pattern in stage.patterns:
                stage.remove_rows(ids)

    def state(self) -> dict[str, Any]:
        return {name: stage.state() for name, stage in self.items()}

    def restore(self, state: Mapping[str, Any], bounds: StateBounds, like: ResultBatch | None) -> None:
        for name, stage in self.items():
            stage.restore(state[name], bounds, like)


def _by_certainty(results: ResultBatch) -> list[ResultBatch]:
    """Matches over estimates are estimates; those of a stage and forecasts are what they are."""
    if not results.schema.uncertain or results.estimates is not None or results.forecasts is not None:
        return [results]
    return split_by_certainty(results)
