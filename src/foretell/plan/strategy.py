"""The only place that chooses how a subscription runs: executor, sharing, template mode, observation and kernel.

Every choice is a `Decision`: the value, and the reason in words that `explain` prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text
from foretell.plan.arrival_hindrances import absence_hindrances, shape_hindrances
from foretell.plan.lower.arrival_analysis import analyse_sequence
from foretell.plan.shapes import DetectionShape, NfaShape, WaitShape
from foretell.plan.template_profiles import is_single_step, rows_apart
from foretell.plan.template_selection import selection_of, template_selection
from foretell.records import record

if TYPE_CHECKING:
    from foretell.plan.prefix_sharing import SharedNfa

T = TypeVar("T")


@record
class Decision(Generic[T]):
    """A chosen value, and the reason as a clause that people read."""

    value: T
    why: str

    def instead(self, value: T) -> Decision[T]:
        return Decision(value, "it was asked for")


class Executor(Enum):
    """The object that holds a subscription's partial matches."""

    NFA = "NFA"
    ARRIVALS = "arrival lists"
    ABSENCE = "absence clock"
    HIDDEN = "hidden patterns"
    PROFILES = "profile index"


class CorrelatorForm(Enum):
    """How a correlator runs."""

    DETERMINISED = "determinised"
    CONCURRENT = "concurrent"


class Sharing(Enum):
    """The NFA that a subscription joins. Strict patterns share one so that a strict kernel can run it."""

    STRICT = "shared with strict patterns"
    GENERAL = "shared"
    OWN = "its own"


class TemplateMode(Enum):
    """How the rows of a FOR EACH table run."""

    ONE_EXECUTOR = "one executor for all rows"
    PROFILE_INDEX = "one index of the rows' profiles"
    SHARED_RUNS = "one executor for all rows, by their profiles"
    EXECUTOR_PER_ROW = "an executor for each row"
    MACHINE_PER_ROW = "a machine for each row"

    @property
    def serves_all_rows(self) -> bool:
        """Whether one executor serves all rows."""
        return self in (TemplateMode.ONE_EXECUTOR, TemplateMode.PROFILE_INDEX, TemplateMode.SHARED_RUNS)


class ObservationMode(Enum):
    """Where forecasts read the configuration after each event."""

    PROBE = "a probe in the kernel"
    SECOND_EXECUTOR = "a second executor with a probe"
    ARRIVAL_TRACKER = "a tracker of the arrival lists"
    NO_RUNS = "no runs to observe"
    CORRELATOR = "the states of the correlator"


class Kernel(Enum):
    """The compiled loop that runs an executor's events (foretell.machine.kernels)."""

    GENERAL = "general"
    STRICT = "strict"
    LOCKSTEP = "lockstep"
    LONGEST = "longest"
    LONGEST_GENERAL = "longest, passing over events"
    ARRIVAL_WALK = "arrival walk"
    ABSENCE = "absence"

    @property
    def next_only(self) -> bool:
        """Whether it runs patterns in which only the very next event can be bound."""
        return self in (Kernel.STRICT, Kernel.LOCKSTEP, Kernel.LONGEST)

    @property
    def lockstep(self) -> bool:
        return self is Kernel.LOCKSTEP


@record
class Strategy:
    """How one subscription runs, as far as its text and the types of its parameters decide it."""

    executor: Decision[Executor]
    sharing: Decision[Sharing]
    template: Decision[TemplateMode] | None = None
    observation: Decision[ObservationMode] | None = None

    @property
    def shares_runs(self) -> bool:
        """Whether the rows of a template share partial matches by their profiles."""
        return self.template is not None and self.template.value is TemplateMode.SHARED_RUNS

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind.of(self.executor.value, self.sharing.value)


class GroupKind(Enum):
    """Subscriptions of one kind, FROM and PER may share an executor. Snapshots record the values."""

    ARRIVALS = "arrivals"
    STRICT = "strict"
    GENERAL = "instances"
    OWN = "instances, alone"
    ABSENCE = "silence"
    PROFILES = "profiles"

    @property
    def shares(self) -> bool:
        return self in (GroupKind.STRICT, GroupKind.GENERAL)

    @property
    def choices(self) -> tuple[Executor, Sharing]:
        """The executor and the sharing of this kind."""
        return {
            GroupKind.ARRIVALS: (Executor.ARRIVALS, Sharing.OWN),
            GroupKind.STRICT: (Executor.NFA, Sharing.STRICT),
            GroupKind.GENERAL: (Executor.NFA, Sharing.GENERAL),
            GroupKind.OWN: (Executor.NFA, Sharing.OWN),
            GroupKind.ABSENCE: (Executor.ABSENCE, Sharing.OWN),
            GroupKind.PROFILES: (Executor.PROFILES, Sharing.OWN),
        }[self]

    @classmethod
    def of(cls, executor: Executor, sharing: Sharing) -> GroupKind:
        return next(kind for kind in cls if kind.choices == (executor, sharing))


def choose_strategy(
    subscription: CheckedSubscription, parameters: Mapping[str, Type] | None = None, *, observed: bool = False
) -> Strategy:
    """The strategy of a subscription. `parameters` are the columns of its FOR EACH table, None where unknown."""
    template = _choose_template(subscription, parameters, observed=observed)
    executor = choose_executor(subscription, None if template is None else template.value)
    return Strategy(
        executor,
        _choose_sharing(subscription, executor.value, observed=observed),
        template,
        _choose_observation(subscription, executor.value) if observed else None,
    )


def as_recorded(
    subscription: CheckedSubscription, strategy: Strategy, kind: GroupKind, template: TemplateMode
) -> Strategy:
    """The strategy with the choices that a snapshot records, where this version would choose otherwise: the state of
    the executor has their form."""
    why = "the snapshot was taken so"
    if strategy.group_kind is not kind:
        executor, sharing = kind.choices
        strategy = replace(strategy, executor=Decision(executor, why), sharing=Decision(sharing, why))
        if strategy.observation is not None:
            strategy = replace(strategy, observation=_choose_observation(subscription, executor))
    if strategy.template is not None and strategy.template.value not in (template, TemplateMode.MACHINE_PER_ROW):
        strategy = replace(strategy, template=Decision(template, why))
    return strategy


# ── executor ──


def choose_executor(subscription: CheckedSubscription, template: TemplateMode | None = None) -> Decision[Executor]:
    """Arrival lists where they can run the pattern and where it pays; an NFA runs every pattern with events."""
    if template is TemplateMode.PROFILE_INDEX:
        return Decision(Executor.PROFILES, "a match is one event, so there are no partial matches")
    if template is TemplateMode.SHARED_RUNS:
        return Decision(Executor.NFA, "partial matches carry the rows of the table that agree so far")
    if subscription.tree.losing is not None:
        why = "each set of steps that may be lost has a pattern, and others tell of a lost step seen after all"
        return Decision(Executor.HIDDEN, why)
    if isinstance(subscription.pattern, tree.Silence):
        return Decision(Executor.ABSENCE, "a negated step alone binds no events, so a clock in each lane is enough")
    if is_longest(subscription):
        return Decision(Executor.NFA, "LONGEST waits for the partial matches that live, and arrival lists have none")
    hindrance = next(shape_hindrances(subscription), None)
    if hindrance is not None:
        return Decision(Executor.NFA, hindrance)
    conditions = analyse_sequence(subscription)
    hindrance = next(absence_hindrances(conditions), None)
    if hindrance is not None:
        return Decision(Executor.NFA, hindrance)
    if conditions.keys:
        key = expression_text(conditions.keys[0][conditions.steps[0]])
        return Decision(Executor.ARRIVALS, f"every operator is `;` and all steps share `{key}`, which finds the list")
    for question in conditions.joins:
        if conditions.steps[-1] not in question.steps:
            steps = " and ".join(f"`{step}`" for step in conditions.steps if step in question.steps)
            why = f"a condition between {steps} drops combinations before `{conditions.steps[-1]}` arrives"
            return Decision(Executor.NFA, why)
    return Decision(Executor.ARRIVALS, "every operator is `;`, so partial combinations need not be copied")


def is_longest(subscription: CheckedSubscription) -> bool:
    return subscription.tree.after.policy is tree.Policy.LONGEST


# ── lost events ──


#: What cannot reach so much of the threshold is left out: between points that were computed there may be more.
CERTAINLY_LESS = 0.9


def runs_without(best: float, above: float) -> Decision[bool]:
    """Whether a pattern without some lost steps runs; `best` is the best probability at some lengths."""
    if best < CERTAINLY_LESS * above:
        return Decision(False, f"no match is more probable than {best:.3g}, which is below ABOVE {above:g}")
    return Decision(True, f"a match may have the probability {best:.3g}")


def narrowed_window(within: int | float, longest: float) -> Decision[int | float]:
    """The window of a pattern whose matches are not probable enough where they are longer than this."""
    if longest >= within:
        return Decision(within, "matches of any length may be probable enough")
    narrow = longest if isinstance(within, float) else int(longest) + 1
    return Decision(narrow, "longer matches are less probable than ABOVE")


# ── sharing ──


def choose_correlator_form(states: int | None) -> Decision[CorrelatorForm]:
    """From the number of states of the determinised machine; None where it would be too large."""
    if states is None:
        return Decision(CorrelatorForm.CONCURRENT, "determinised, its table would be too large")
    return Decision(CorrelatorForm.DETERMINISED, f"its table has {states:,} states")


def _choose_sharing(subscription: CheckedSubscription, executor: Executor, *, observed: bool) -> Decision[Sharing]:
    if (why := _reason_to_own(subscription, executor, observed=observed)) is not None:
        return Decision(Sharing.OWN, why)
    if _is_strict(subscription):
        return Decision(Sharing.STRICT, "every operator is `,`: equal prefixes of such patterns are one")
    return Decision(Sharing.GENERAL, "equal prefixes of patterns with the same FROM and PER are one")


def _reason_to_own(subscription: CheckedSubscription, executor: Executor, *, observed: bool) -> str | None:
    if executor is not Executor.NFA:
        return f"{executor.value} serve one subscription" if executor is Executor.ARRIVALS else "it has no states"
    if subscription.tree.table is not None:
        return "a FOR EACH template does not share"
    if observed:
        return "forecasts observe its runs apart from those of others"
    if is_longest(subscription):
        return "LONGEST waits for its own partial matches"
    if subscription.hidden:
        return "patterns of LOSING come and go with their statement"
    for node in subscription.pattern.walk():
        match node:
            case tree.Numbered(step=step, index=index):
                return f"`{step.name}[{index}]` counts events"
            case tree.Negation(step=step):
                return f"`!{step.name}` looks into gaps"
    return None


def _is_strict(subscription: CheckedSubscription) -> bool:
    """Whether every operator is `,`."""
    nodes = list(subscription.pattern.walk())
    operators = [p.operator for n in nodes if isinstance(n, tree.Sequence) for p in n.parts[1:]]
    operators += [n.under for n in nodes if isinstance(n, tree.Repeat)]
    next_only = all(isinstance(o, tree.Next) for o in operators if o is not None)
    conjoined = any(isinstance(n, tree.Conjunction) for n in nodes)
    return next_only and not conjoined and not subscription.simultaneous


# ── templates and observation ──


def _choose_template(
    subscription: CheckedSubscription, parameters: Mapping[str, Type] | None, *, observed: bool
) -> Decision[TemplateMode] | None:
    if subscription.tree.table is None:
        return None
    per_row = TemplateMode.EXECUTOR_PER_ROW
    if subscription.stage_has_rows:
        return Decision(TemplateMode.MACHINE_PER_ROW, "one executor finds the events of all rows, equal rows run once")
    if isinstance(subscription.pattern, tree.Silence):
        return Decision(per_row, "each row has its own clocks")
    if observed or subscription.correlated:
        return Decision(per_row, "forecasts observe the runs of each row apart")
    if subscription.hidden or subscription.tree.losing is not None:
        return Decision(per_row, "the estimates of each row are withdrawn apart")
    if parameters is not None and not parameters:
        return Decision(per_row, "the table has no columns")
    if selection_of(subscription) is not None and (
        parameters is None or template_selection(subscription, parameters) is not None
    ):
        return Decision(TemplateMode.ONE_EXECUTOR, "the parameters only select the first event")
    if is_single_step(subscription):
        return Decision(TemplateMode.PROFILE_INDEX, "all conditions are about one event")
    if (hindrance := rows_apart(subscription)) is not None:
        return Decision(per_row, hindrance)
    return Decision(TemplateMode.SHARED_RUNS, "rows have a partial match in common until they differ")


def serves_all_rows(subscription: CheckedSubscription, parameters: Mapping[str, Type] | None = None) -> bool:
    """Whether one executor serves all rows of a template that nobody observes."""
    template = _choose_template(subscription, parameters, observed=False)
    return template is not None and template.value.serves_all_rows


def _choose_observation(subscription: CheckedSubscription, executor: Executor) -> Decision[ObservationMode]:
    if subscription.correlator is not None:
        return Decision(ObservationMode.CORRELATOR, "a correlator has one state in each lane, and no runs")
    if executor is Executor.ABSENCE:
        return Decision(ObservationMode.NO_RUNS, "an absence clock has no runs")
    if executor is Executor.ARRIVALS:
        return Decision(ObservationMode.ARRIVAL_TRACKER, "arrival lists have no runs")
    policy = subscription.tree.after.policy
    if policy is tree.Policy.HOLD:
        return Decision(ObservationMode.PROBE, "matches do not exclude runs")
    why = f"AFTER MATCH {policy.name} excludes runs, which is known only after the batch"
    return Decision(ObservationMode.SECOND_EXECUTOR, why)


def choose_keys(nfa: SharedNfa, *, observed: bool) -> Decision[bool]:
    """Whether states of an NFA that could be indexed by a key are."""
    indexed = any(state.waiting.key is not None for state in nfa.states)
    if not nfa.keyed or (indexed and observed and not nfa.compiled.has_process_key):
        return Decision(False, "forecasts must see all runs of a lane, and the states have no key in common")
    if not indexed:
        return Decision(True, "no equality with a bound value holds for all events that a state waits for")
    return Decision(True, "all events that the state waits for must equal a bound value")


def choose_run_index(waits: Mapping[int, WaitShape]) -> Decision[Mapping[int, int]]:
    """The states of a template's NFA at which an event finds runs by the profile of their rows at a site."""
    found = {n: min(wait.sites) for n, wait in waits.items() if wait.hindrance is None}
    hindrances = [wait.hindrance for wait in waits.values() if wait.hindrance is not None]
    return Decision(found, hindrances[0] if hindrances else "an event visits those whose profile it satisfies")


# ── kernels ──

#: With more states most are empty, and visiting all of them would cost more than is gained.
MOST_LOCKSTEP_STATES = 16


@record
class KernelDecision:
    """The kernel of an NFA. With `reverse_scan`, whole batches may be run backwards: the executor decides for each
    batch by its size and the limits on partial matches (machine.kernels.reverse_scan, `ReverseScan.apply`)."""

    kernel: Decision[Kernel]
    reverse_scan: Decision[bool]
    shape: NfaShape


def choose_kernel(shape: NfaShape) -> KernelDecision:
    """Lockstep where all runs at a state take the same way, strict where only the next event counts, else general."""
    if shape.rows:
        return _without_reverse_scan(shape, Kernel.GENERAL, "the rows of a run may take different ways")
    if not shape.next_only:
        if shape.longest and not shape.keyed:
            why = "runs may wait for later events, and a match of the first of them ends those that began since"
            return _without_reverse_scan(shape, Kernel.LONGEST_GENERAL, why)
        return _without_reverse_scan(shape, Kernel.GENERAL, "runs may wait for later events")
    if shape.longest:
        why = "only the very next event counts, and a match of the first run ends those that began since"
        return _without_reverse_scan(shape, Kernel.LONGEST, why)
    hindrance = _lockstep_hindrance(shape)
    if hindrance is not None:
        return _without_reverse_scan(shape, Kernel.STRICT, f"only the very next event counts, and {hindrance}")
    kernel = Decision(Kernel.LOCKSTEP, "all runs at a state take the same way")
    if not shape.begins_on_every_event:
        return KernelDecision(kernel, Decision(False, "not every event begins a match"), shape)
    if shape.chain_nodes > 1:
        return KernelDecision(kernel, Decision(False, "gaps are kept"), shape)
    why = "every event begins a match; used for batches of 256 events or more that the limits cannot stop"
    return KernelDecision(kernel, Decision(True, why), shape)


def _without_reverse_scan(shape: NfaShape, kernel: Kernel, why: str) -> KernelDecision:
    return KernelDecision(Decision(kernel, why), Decision(False, "only the lockstep kernel has one"), shape)


def _lockstep_hindrance(shape: NfaShape) -> str | None:
    hindrances = {
        "a condition compares with a bound event": shape.runs_code,
        "WITHIN ends runs one by one": shape.has_window,
        "a repetition leads back to an earlier state": shape.goes_back,
        "a register is computed from others": shape.computes,
        f"there are more than {MOST_LOCKSTEP_STATES} states": shape.states > MOST_LOCKSTEP_STATES,
    }
    return next((hindrance for hindrance, applies in hindrances.items() if applies), None)


# ── single-step detection and late guards ──

#: What it costs to find the events at which a partial match waits, in nanoseconds for an event and a place.
PARTIAL_EVALUATION = 5.0


def choose_detection(shape: DetectionShape) -> Decision[frozenset[int]]:
    """The predicates that are evaluated only where a partial match waits for them (plan.lower.detection)."""
    costly = frozenset(n for n, cost in shape.nanoseconds.items() if cost > PARTIAL_EVALUATION)
    if shape.hindrance is not None or not costly:
        why = "whole columns are quicker than finding where partial matches wait"
        return Decision(frozenset(), shape.hindrance or why)
    most = max(shape.nanoseconds.values())
    why = f"up to {most:.0f} ns an event are saved, finding where partial matches wait takes {PARTIAL_EVALUATION:.0f}"
    return Decision(costly, why)


#: So many predicates of later steps are evaluated for whole batches in any case: that is quick.
MOST_EARLY = 16


def choose_late_guards(later: int, *, next_only: bool) -> Decision[bool]:
    """Whether the kernel may evaluate the conditions of later steps (plan.lower.late_guards), from their number."""
    if not next_only:
        return Decision(False, "their predicates tell which partial matches an event concerns")
    if later <= MOST_EARLY:
        return Decision(False, f"whole columns are quick for {MOST_EARLY} predicates or fewer")
    why = f"{later:,} predicates of later steps: batches that begin few matches evaluate them one by one"
    return Decision(True, why)
