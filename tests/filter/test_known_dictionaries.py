"""Arrow dictionaries that come again and again: their codes are kept, as long as the texts are the same."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from foretell.filter.string_dictionary import StringDictionary


def texts(strings: StringDictionary, column: Any) -> list[str | None]:
    codes, nulls = strings.encode(column)
    return [None if null else strings.text(code) for code, null in zip(codes.tolist(), nulls.tolist(), strict=True)]


@pytest.mark.parametrize("size", [3, 5000], ids=["short", "long"])
def test_rows_have_their_texts_with_each_dictionary(size: int) -> None:
    strings = StringDictionary()
    for words in ([f"a{i}" for i in range(size)], [f"b{i}" for i in range(size)], [None, *"bc"], ["", "b", None], []):
        for rows in ([0, 2, 1], [2], [None, 1], []):
            if not words and rows != []:
                continue
            column: Any = pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), pa.array(words, pa.string()))
            assert texts(strings, column) == column.to_pylist()
            assert texts(strings, pa.chunked_array([column, column])) == 2 * column.to_pylist()


def test_memory_that_the_caller_uses_again_is_read_again() -> None:
    strings, data = StringDictionary(), bytearray(b"ab")
    offsets = pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes())
    words = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(data)])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), words)
    assert texts(strings, column) == ["a", "b"]
    data[:] = b"xy"
    assert texts(strings, column) == ["x", "y"]


def test_codes_of_texts_that_were_freed_are_not_kept() -> None:
    strings = StringDictionary()
    column = pa.array(["a", "b"]).dictionary_encode()
    texts(strings, column)
    strings.free([])
    strings.code("other")
    assert texts(strings, column) == ["a", "b"]


def test_a_long_dictionary_adds_only_the_texts_of_few_rows() -> None:
    strings = StringDictionary()
    words = pa.array([f"w{i}" for i in range(100_000)])
    texts(strings, pa.DictionaryArray.from_arrays(pa.array([7, 9], pa.int32()), words))
    assert strings.used == 3  # and the empty text
