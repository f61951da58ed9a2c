"""Dictionary encoding of strings, shared by all columns of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.arrow_interop import nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.filter.column import no_nulls
from foretell.filter.text_functions import apply
from foretell.plan.lower.text_functions import TextFunction
from foretell.storage.recorded_values import require

#: About what Python takes for a string besides its text: the object, its code, the entries of a list and a dict.
_STRING_BYTES = 200


class StringDictionary:
    """All strings of an engine. A string keeps its code for the engine's life, and equal strings have equal codes.

    Kernels cannot read Python strings, so their UTF-8 lies in one heap: code c is `data[offsets[c]:offsets[c + 1]]`.
    Code 0 is the empty string, so that an array of zeros holds valid codes.

    >>> strings = StringDictionary()
    >>> strings.code("é"), strings.code("é"), strings.text(1), strings.offsets.tolist(), strings.lengths.tolist()
    (1, 1, 'é', [0, 0, 2], [0, 1])
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._offsets = np.zeros(64, np.int64)
        self._lengths = np.zeros(64, np.int64)
        self._data = np.zeros(1024, np.uint8)
        self._results: dict[tuple[TextFunction, ...], _FunctionResults] = {}
        self._order = np.zeros(0, np.int64)
        self.code("")
        for text in texts:
            self.code(text)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def nbytes(self) -> int:
        """About how much memory the strings take: as Python objects with their codes, and in the heap."""
        heap = self._data.nbytes + self._offsets.nbytes + self._lengths.nbytes
        tables = sum(results.table.nbytes for results in self._results.values())
        return heap + tables + self._order.nbytes + int(self._offsets[len(self)]) + _STRING_BYTES * len(self)

    def code(self, text: str) -> int:
        """The code of a string; a new string gets the next one."""
        code = self._codes.get(text)
        return self._add(text) if code is None else code

    def text(self, code: int) -> str:
        return self._texts[code]

    def encode(self, array: ArrowArray) -> tuple[Ints, Flags]:
        """The codes of an Arrow column of strings, and its NULLs. Only distinct values are looked up one by one."""
        chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        encoded = [self._encode_chunk(chunk) for chunk in chunks]
        if len(encoded) == 1:
            return encoded[0]
        codes = np.concatenate([np.empty(0, np.int64), *(codes for codes, _ in encoded)])
        return codes, np.concatenate([np.empty(0, np.bool_), *(nulls for _, nulls in encoded)])

    @property
    def offsets(self) -> Ints:
        return self._offsets[: len(self) + 1]

    @property
    def data(self) -> NDArray[np.uint8]:
        return self._data[: self._offsets[len(self)]]

    @property
    def lengths(self) -> Ints:
        """The length of each string in code points."""
        return self._lengths[: len(self)]

    def heap(
        self, functions: tuple[TextFunction, ...] = (), *, substrings: bool = False
    ) -> tuple[Ints, NDArray[np.uint8], Ints, Ints]:
        """The arrays that kernels read: offsets, data, the results of functions for each string, and all codes in the
        order of their strings.

        Kernels cannot create strings, so every string that a function may produce gets its code beforehand. With
        `substrings`, so do all parts of strings, of which there are many: a kernel then applies functions to them.
        """
        results = self._results.setdefault(functions, _FunctionResults(np.zeros((1, len(functions)), np.int64)))
        while results.done < len(self) and (functions or substrings):
            first, last = results.done, len(self)
            texts = self._texts[first:last]
            results.table = _with_room(results.table, last)
            for number, function in enumerate(functions):
                results.table[first:last, number] = [self._word(value) for value in apply(function, texts)]
            if substrings:
                self._add_parts(texts)
            results.done = last
        if substrings and len(self._order) < len(self):
            self._order = np.array(sorted(range(len(self)), key=self._texts.__getitem__), np.int64)
        return self.offsets, self.data, results.table, self._order

    def _word(self, value: str | bool) -> int:
        return self.code(value) if isinstance(value, str) else int(value)

    def _add_parts(self, texts: Iterable[str]) -> None:
        for text in texts:
            for first in range(len(text)):
                for last in range(first + 1, len(text)):
                    self.code(text[first:last])
                self.code(text[first:])

    def state(self) -> list[str]:
        return list(self._texts)

    @classmethod
    def restore(cls, state: Sequence[str]) -> StringDictionary:
        require(isinstance(state, list) and all(type(text) is str for text in state), "the texts")
        strings = cls(state)
        require(len(strings) == len(state) and state[0] == "", "texts that are listed twice")
        return strings

    def _add(self, text: str) -> int:
        # A literal may hold a lone surrogate, which no event has: it must get a code all the same.
        encoded = text.encode("utf-8", "surrogatepass")
        code = len(self._texts)
        start = int(self._offsets[code])
        self._offsets = _with_room(self._offsets, code + 2)
        self._lengths = _with_room(self._lengths, code + 1)
        self._data = _with_room(self._data, start + len(encoded))
        self._data[start : start + len(encoded)] = np.frombuffer(encoded, np.uint8)
        self._offsets[code + 1] = start + len(encoded)
        self._lengths[code] = len(text)
        self._texts.append(text)
        self._codes[text] = code
        return code

    def _encode_chunk(self, chunk: ArrowArray) -> tuple[Ints, Flags]:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        codes = [None if text is None else self.code(text) for text in encoded.dictionary.to_pylist()]
        if encoded.null_count == 0 and None not in codes:
            return np.array(codes or [0], np.int64)[numpy_of(encoded.indices)], no_nulls(len(encoded))
        # One more entry stands for NULL, which Arrow writes as a missing index or as a missing dictionary value.
        code_of = np.array([*(code or 0 for code in codes), 0], np.int64)
        missing = np.array([*(code is None for code in codes), True], np.bool_)
        indices = np.where(nulls_of(encoded.indices), len(codes), numpy_of(encoded.indices))
        return code_of[indices], missing[indices]


@dataclass
class _FunctionResults:
    """What some functions give for the first `done` strings: a row for each."""

    table: Ints
    done: int = 0


def _with_room(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array with room for `length` rows; it grows by doubling, so that appending costs constant time on average."""
    if length <= len(array):
        return array
    larger = np.zeros((max(length, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
