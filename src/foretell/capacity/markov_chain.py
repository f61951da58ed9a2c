"""The Markov chain of a net without deterministic transitions: its measures, exactly.

Markings in which immediate transitions are enabled vanish at once. They are eliminated: the rate from one tangible
marking to another is that of the direct firings, and that of the firings into vanishing ones times the probability of
coming out there. A net of more than `MOST_STATES` markings is refused; the simulation has no such bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags, identity
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from foretell.arrays import Floats
from foretell.capacity.measures import Measured, NetMeasures
from foretell.capacity.net.petri_net import INFINITE, ExponentialTime, FixedTime, Immediately, NetTransition, PetriNet
from foretell.capacity.route_times import notified_latency
from foretell.errors import InputError
from foretell.records import record

#: The most markings, tangible and vanishing ones together.
MOST_STATES = 50_000

Marking = tuple[int, ...]


@record
class Firing:
    """A transition that fires in the state `source`, with its rate or, of an immediate one, its probability."""

    source: int
    target: int
    transition: int
    weight: float
    degree: int


@record
class ReachabilityGraph:
    """The markings that the net can reach, and the firings between them."""

    markings: list[Marking]
    vanishing: list[bool]
    firings: list[Firing]


def solved(net: PetriNet, most_states: int = MOST_STATES) -> NetMeasures:
    """The measures of the steady state."""
    for name, each in net.transitions.items():
        if isinstance(each.time, FixedTime):
            message = f"'{name}' has a deterministic delay: the net is no Markov chain"
            raise InputError("no-chain", message, hint='write method = "simulation"')
    graph = reachability_graph(net, most_states)
    return _measures(net, graph, _probabilities(net, graph))


def reachability_graph(net: PetriNet, most_states: int = MOST_STATES) -> ReachabilityGraph:
    """All markings that the net can reach from its first one."""
    explorer = _Explorer(net)
    first = net.first_marking()
    number = {first: 0}
    waiting, vanishing, firings = deque([first]), list[bool](), list[Firing]()
    while waiting:
        marking = waiting.popleft()
        enabled = [*explorer.enabled(marking)]
        vanishing.append(any(each.is_immediate for _, each, _ in enabled))
        if not enabled:
            hint = "check which transition should give back tokens, and which arc takes too many"
            message = f"the net can stand still: no transition can fire ({net.marking_text(marking)})"
            raise InputError("deadlock", message, hint=hint)
        for transition, weight, degree in explorer.weights(enabled):
            target = explorer.fired(marking, transition)
            if target not in number:
                number[target] = len(number)
                waiting.append(target)
                if len(number) > most_states:
                    message = f"the net has more than {most_states:,} markings"
                    raise InputError(
                        "too-large", message, hint='give places a capacity, or write method = "simulation"'
                    )
            firings.append(Firing(number[marking], number[target], transition, weight, degree))
    return ReachabilityGraph([*number], vanishing, firings)


class _Explorer:
    """The firing rule on markings: the arcs by the numbers of places."""

    def __init__(self, net: PetriNet) -> None:
        place = {name: i for i, name in enumerate(net.places)}
        self._transitions = [*net.transitions.values()]
        self._inputs, self._outputs, self._inhibitors = (
            [[(place[p], n) for p, n in getattr(each, arcs).items()] for each in self._transitions]
            for arcs in ("inputs", "outputs", "inhibitors")
        )
        self._capacity = [each.capacity for each in net.places.values()]

    def enabled(self, marking: Marking) -> Iterator[tuple[int, NetTransition, int]]:
        """The enabled transitions: with immediate ones, those of the highest priority alone."""
        enabled = [(t, each, d) for t, each in enumerate(self._transitions) if (d := self._degree(marking, t)) > 0]
        priorities = [each.time.priority for _, each, _ in enabled if isinstance(each.time, Immediately)]
        if not priorities:
            yield from enabled
        for found in enabled:
            time = found[1].time
            if isinstance(time, Immediately) and time.priority == max(priorities):
                yield found

    @staticmethod
    def weights(enabled: list[tuple[int, NetTransition, int]]) -> Iterator[tuple[int, float, int]]:
        """The rates of timed transitions, or the probabilities of immediate ones."""
        total = sum(each.time.weight for _, each, _ in enabled if isinstance(each.time, Immediately))
        for transition, each, degree in enabled:
            match each.time:
                case Immediately(weight):
                    yield transition, weight / total, degree
                case ExponentialTime(rate):
                    yield transition, rate * degree, degree

    def fired(self, marking: Marking, transition: int) -> Marking:
        after = [*marking]
        for place, count in self._inputs[transition]:
            after[place] -= count
        for place, count in self._outputs[transition]:
            after[place] += count
        return tuple(after)

    def _degree(self, marking: Marking, transition: int) -> int:
        if any(marking[place] >= count for place, count in self._inhibitors[transition]):
            return 0
        each, inputs = self._transitions[transition], dict(self._inputs[transition])
        degree = 1 if each.is_immediate else min(each.servers, INFINITE)
        for place, count in inputs.items():
            degree = min(degree, marking[place] // count)
        for place, count in self._outputs[transition]:
            capacity, gain = self._capacity[place], count - inputs.get(place, 0)
            if capacity is not None and gain > 0:
                degree = min(degree, (capacity - marking[place]) // gain)
        return degree


def _probabilities(net: PetriNet, graph: ReachabilityGraph) -> Floats:
    """The probability of each tangible marking, and the visits a second of each vanishing one."""
    size = len(graph.markings)
    sources, targets = ([getattr(f, end) for f in graph.firings] for end in ("source", "target"))
    weights = [f.weight for f in graph.firings]
    rates = csr_matrix((weights, (sources, targets)), shape=(size, size))
    vanishing = np.array(graph.vanishing)
    gone, stays = np.flatnonzero(vanishing), np.flatnonzero(~vanishing)
    if not len(stays):
        raise InputError("endless", "no time passes in the net: immediate transitions fire for ever", hint="add a rate")
    direct, into = rates[stays][:, stays], rates[stays][:, gone]
    among, out = rates[gone][:, gone], rates[gone][:, stays]
    if len(gone):
        _refuse_traps(net, graph, rates, vanishing)
        visits = csr_matrix(spsolve((identity(len(gone)) - among).tocsc(), csc_matrix(out)))
        direct = direct + into @ visits.reshape((len(gone), len(stays)))
    probability = _stationary(csr_matrix(direct))
    found: Floats = np.zeros(size)
    found[stays] = probability
    if len(gone):  # visits a second: those from tangible markings, and those from one another
        found[gone] = np.asarray(spsolve((identity(len(gone)) - among).T.tocsc(), into.T @ probability))
    return found


def _refuse_traps(net: PetriNet, graph: ReachabilityGraph, rates: csr_matrix, vanishing: np.ndarray) -> None:
    """An error where immediate transitions lead from one vanishing marking to another for ever."""
    inside = rates.multiply(vanishing[:, None])
    count, part = connected_components(inside, connection="strong")
    leaves = np.zeros(count, np.bool_)
    leaves[part[~vanishing]] = True
    rows, columns = inside.nonzero()
    leaves[part[rows[part[rows] != part[columns]]]] = True
    if not leaves.all():
        trapped = int(np.flatnonzero(~leaves[part])[0])
        message = f"immediate transitions fire for ever ({net.marking_text(graph.markings[trapped])})"
        raise InputError("endless", message, hint="give one of them a rate, or let it take more than it gives")


def _stationary(rates: csr_matrix) -> Floats:
    """The stationary distribution of a chain with these rates; loops do not count."""
    size = rates.shape[0]
    count, part = connected_components(rates, connection="strong")
    rows, columns = rates.nonzero()
    final = np.ones(count, np.bool_)
    final[part[rows[part[rows] != part[columns]]]] = False
    if final.sum() > 1:
        message = "the net has several steady states: chance decides which it ends in"
        raise InputError("no-steady-state", message, hint='write method = "simulation", which follows one of them')
    recurrent = np.flatnonzero(final[part])
    inner = rates[recurrent][:, recurrent]
    generator = (inner - diags(np.asarray(inner.sum(axis=1)).ravel())).T.tolil()
    generator[-1, :] = 1.0
    constants = np.zeros(len(recurrent))
    constants[-1] = 1.0
    found = np.zeros(size)
    found[recurrent] = np.asarray(spsolve(generator.tocsc(), constants))
    return found


def _measures(net: PetriNet, graph: ReachabilityGraph, probability: Floats) -> NetMeasures:
    markings, stays = np.array(graph.markings, np.float64), ~np.array(graph.vanishing)
    tokens = (markings[stays] * probability[stays, None]).sum(axis=0)
    throughput, busy = np.zeros(len(net.transitions)), np.zeros(len(net.transitions))
    for firing in graph.firings:
        throughput[firing.transition] += probability[firing.source] * firing.weight
        if stays[firing.source]:
            busy[firing.transition] += probability[firing.source] * firing.degree
    found = NetMeasures(
        net=net,
        method="Markov chain",
        tokens={name: Measured(float(mean)) for name, mean in zip(net.places, tokens)},
        throughput={name: Measured(float(rate)) for name, rate in zip(net.transitions, throughput)},
        busy={name: Measured(float(mean)) for name, mean in zip(net.transitions, busy)},
        latency=None,
    )
    return notified_latency(found)
