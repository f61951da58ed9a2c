"""An expression computes its hash once; a copy of it in another process computes its own."""

import pickle

from foretell.language import tree


def test_equal_expressions_have_equal_hashes() -> None:
    first, second = (tree.Binary("<", tree.Attribute(tree.This(), "x"), tree.Literal(1)) for _ in range(2))
    assert hash(first) == hash(first) == hash(second)
    assert {first: 1}[second] == 1
    assert hash(first) != hash(tree.Binary("<", tree.Attribute(tree.This(), "y"), tree.Literal(1)))


def test_a_hash_does_not_travel() -> None:
    expression = tree.Attribute(tree.This(), "x")
    hash(expression)
    copy = pickle.loads(pickle.dumps(expression))
    assert copy == expression
    assert vars(copy).keys() == {"event", "name", "place"}
    assert hash(copy) == hash(expression)
