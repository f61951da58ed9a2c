"""A bound on the tokens of a place, whatever the rates: by the state equation of the arcs, as a linear program."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from foretell.capacity.net.petri_net import PetriNet


def token_limit(net: PetriNet, place: str) -> float:
    """The most tokens that firings can bring into a place; infinite, if there is no bound.

    Inhibitor arcs and order are left out, so that fewer may be reached.
    """
    number = {name: i for i, name in enumerate(net.places)}
    change = np.zeros((len(net.places), len(net.transitions)))
    for column, each in enumerate(net.transitions.values()):
        for name, count in each.outputs.items():
            change[number[name], column] += count
        for name, count in each.inputs.items():
            change[number[name], column] -= count
    first = np.array(net.first_marking(), np.float64)
    bounded = [(i, each.capacity) for i, each in enumerate(net.places.values()) if each.capacity is not None]
    rows = np.vstack([-change, *(change[i] for i, _ in bounded)])
    limits = np.concatenate([first, [capacity - first[i] for i, capacity in bounded]])
    found = linprog(-change[number[place]], A_ub=rows, b_ub=limits, method="highs")
    return float(first[number[place]] - found.fun) if found.status == 0 else math.inf
