"""Dictionary encoding of strings, shared by all columns of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.arrow_interop import nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.filter.column import no_nulls


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
        self._cases = np.zeros((64, 2), np.int64)
        self._cased = 0
        self.code("")
        for text in texts:
            self.code(text)

    def __len__(self) -> int:
        return len(self._texts)

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

    def heap(self, *, cases: bool) -> tuple[Ints, NDArray[np.uint8], Ints]:
        """The arrays that kernels read: offsets, data and, with `cases`, the codes of each string in lower and upper
        case. Kernels cannot create strings, so every string that they may produce gets its code beforehand."""
        while cases and self._cased < len(self):
            text = self._texts[self._cased]
            self._cases = _with_room(self._cases, self._cased + 1)
            self._cases[self._cased] = self.code(text.lower()), self.code(text.upper())
            self._cased += 1
        return self.offsets, self.data, self._cases

    def state(self) -> list[str]:
        return list(self._texts)

    @classmethod
    def restore(cls, state: Sequence[str]) -> StringDictionary:
        return cls(state)

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


def _with_room(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array with room for `length` rows; it grows by doubling, so that appending costs constant time on average."""
    if length <= len(array):
        return array
    larger = np.zeros((max(length, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
