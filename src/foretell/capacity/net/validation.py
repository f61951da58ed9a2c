"""Mistakes in a net that its arcs and numbers show, before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from foretell.capacity.net.petri_net import ExponentialTime, FixedTime, Immediately, NetTransition, PetriNet
from foretell.errors import InputError, suggestion
from foretell.records import record

#: The most places and transitions: a net of more is no net that somebody wrote.
MOST_NODES = 2_000


#: The most tokens that move at once, and the most events in the first marking.
MOST_TOKENS = 1_000_000


#: Rates and times outside of these would be lost in the precision of the clock.
_LEAST, _MOST = 1e-12, 1e13


@record
class NetMistake:
    """A mistake, with the keys that lead to it in a scenario file: `transitions`, `send`, `rate`."""

    keys: tuple[str, ...]
    message: str
    hint: str = ""

    def error(self) -> InputError:
        return InputError("wrong-net", f"{'.'.join(self.keys)}: {self.message}", hint=self.hint)


def validated(net: PetriNet) -> PetriNet:
    """The net itself, or an error for its first mistake."""
    for mistake in mistakes(net):
        raise mistake.error()
    return net


def mistakes(net: PetriNet) -> Iterator[NetMistake]:
    if not net.places:
        yield NetMistake(("places",), "a net needs a place", "add a section [places.NAME]")
    if not net.transitions:
        yield NetMistake(("transitions",), "a net needs a transition", "add a section [transitions.NAME]")
    if len(net.places) + len(net.transitions) > MOST_NODES:
        yield NetMistake(("transitions",), f"more than {MOST_NODES:,} places and transitions", "write fewer")
    for name, place in net.places.items():
        if place.tokens < 0:
            yield NetMistake(("places", name, "tokens"), f"{place.tokens} is negative", "write 0 or more")
        if place.holds_events and place.tokens > MOST_TOKENS:
            message = f"{place.tokens:,} events at the start are too many"
            yield NetMistake(("places", name, "tokens"), message, f"at most {MOST_TOKENS:,}")
        if place.capacity is not None and place.capacity < max(place.tokens, 1):
            least = max(place.tokens, 1)
            hint = f"write {least:,} or more"
            yield NetMistake(("places", name, "capacity"), f"{place.capacity:,} is less than {least:,}", hint)
    for name, each in net.transitions.items():
        yield from _transition_mistakes(net, name, each)


def _transition_mistakes(net: PetriNet, name: str, each: NetTransition) -> Iterator[NetMistake]:
    keys = ("transitions", name)
    yield from _time_mistakes(keys, each)
    if each.servers < 1:
        yield NetMistake((*keys, "servers"), f"{each.servers} servers serve nothing", "write 1 or more, or 'infinite'")
    for key, arcs in (("from", each.inputs), ("to", each.outputs), ("unless", each.inhibitors)):
        yield from _arc_mistakes(net, (*keys, key), arcs)
    if not each.inputs and not each.outputs:
        yield NetMistake(keys, "the transition moves no tokens", "add 'from' or 'to'")
    if each.is_immediate and not each.inputs and not each.inhibitors and not _bounded(net, each):
        hint = "give it an input, or a rate"
        yield NetMistake(keys, "the immediate transition has no input: it would fire for ever at once", hint)
    if _takes_nothing(each) and not each.inhibitors and not _bounded(net, each) and not _has_rivals(net, name, each):
        hint = "give it a rate or a delay, or let it take tokens"
        yield NetMistake(keys, "the immediate transition gives back all it takes: it would fire for ever", hint)
    for place, count in each.outputs.items():
        capacity = net.places[place].capacity if place in net.places else None
        if capacity is not None and count - each.inputs.get(place, 0) > capacity:
            message = f"'{place}' has a capacity of {capacity:,}: the transition can never put {count:,} tokens there"
            yield NetMistake((*keys, "to"), message, f"give '{place}' a capacity of {count:,} or more")


def _takes_nothing(each: NetTransition) -> bool:
    """Whether an immediate transition gives back all that it takes."""
    return each.is_immediate and bool(each.inputs) and all(each.outputs.get(p, 0) >= n for p, n in each.inputs.items())


def _has_rivals(net: PetriNet, name: str, each: NetTransition) -> bool:
    """Whether another immediate transition may take its tokens."""
    others = [other for key, other in net.transitions.items() if key != name and other.is_immediate]
    return any({*each.inputs} & {*other.inputs} for other in others)


def _bounded(net: PetriNet, each: NetTransition) -> bool:
    """Whether a capacity stops the transition."""
    return any(
        place in net.places and net.places[place].capacity is not None and count > each.inputs.get(place, 0)
        for place, count in each.outputs.items()
    )


def _time_mistakes(keys: tuple[str, ...], each: NetTransition) -> Iterator[NetMistake]:
    match each.time:
        case ExponentialTime(rate):
            if not _LEAST <= rate <= _MOST:
                hint = "write a rate above 0, in firings a second; leave out a transition that never fires"
                yield NetMistake((*keys, "rate"), f"a rate of {rate:g} is none", hint)
        case FixedTime(delay):
            if not _LEAST <= delay <= _MOST:
                hint = "write a time above 0 in seconds, or leave 'delay' out: the transition is then immediate"
                yield NetMistake((*keys, "delay"), f"a delay of {delay:g} s is none", hint)
        case Immediately(weight):
            if not 0 < weight < math.inf:
                yield NetMistake((*keys, "weight"), f"a weight of {weight:g} is none", "write a number above 0")


def _arc_mistakes(net: PetriNet, keys: tuple[str, ...], arcs: Mapping[str, int]) -> Iterator[NetMistake]:
    for place, count in arcs.items():
        if place not in net.places:
            yield NetMistake((*keys, place), f"there is no place '{place}'", suggestion(place, net.places))
        elif count > MOST_TOKENS:
            yield NetMistake((*keys, place), f"a multiplicity of {count:,} is too large", f"at most {MOST_TOKENS:,}")
        elif count < 1:
            yield NetMistake((*keys, place), f"a multiplicity of {count} is none", "write 1 or more")
