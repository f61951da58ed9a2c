"""Dictionary encoding of strings, shared by all columns of an engine.

A text that nothing holds any more can be freed, and its code goes to the next new text. Other texts keep their codes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foretell.arrays import Flags, Ints
from foretell.events.arrow_interop import arrow_of_values, nulls_of, numpy_of
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.types import Type
from foretell.filter.column import no_nulls
from foretell.filter.text_functions import apply
from foretell.plan.lower.text_functions import TextFunction
from foretell.records import record
from foretell.storage.recorded_values import require, whole

#: About what Python takes for a string besides its text: the object, its code, the entries of a list and a dict.
_STRING_BYTES = 200

#: With fewer strings it is not worth looking for those that nothing holds any more.
LEAST_CROWDED = 16_384

#: So many Arrow dictionaries of earlier batches are known: about one for each column of texts.
_KNOWN_DICTIONARIES = 8
#: So few texts are looked up one by one: Arrow takes longer to encode them.
_FEW = 16

#: So many arrays of texts are kept, of so few texts.
_KEPT_ARRAYS, _MOST_KEPT = 4, 1024

#: Of a dictionary with more texts than this, and many times as many as there are rows, only those of the rows count.
_LONG_DICTIONARY, _SPARSE = 1024, 16


#: Spans, data, the results of functions for each string, and all codes in the order of their strings.
Heap: TypeAlias = tuple[Ints, NDArray[np.uint8], Ints, Ints]


class Texts:
    """The texts of codes. Results that were handed over keep them: they show what these codes meant then."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._arrays: dict[bytes, ArrowArray] = {}

    def text(self, code: int) -> str:
        return self._texts[code]

    def array(self, codes: Ints) -> ArrowArray:
        """The texts of codes in Arrow. Results of many batches have the same lanes, so a few short arrays are kept."""
        if len(codes) > _MOST_KEPT:
            return arrow_of_values([self._texts[code] for code in codes.tolist()], Type.STRING)
        key = codes.tobytes()
        if key not in self._arrays:
            if len(self._arrays) == _KEPT_ARRAYS:
                del self._arrays[next(iter(self._arrays))]
            self._arrays[key] = arrow_of_values([self._texts[code] for code in codes.tolist()], Type.STRING)
        return self._arrays[key]


class StringDictionary(Texts):
    """All strings of an engine. Equal strings have equal codes, and a string keeps its code until it is freed.

    Kernels cannot read Python strings, so their UTF-8 lies in one heap: that of code c is at `spans[2 * c]` and before
    `spans[2 * c + 1]`. Code 0 is the empty string, so that an array of zeros holds valid codes. `view` has the texts as
    they are until some are freed.

    >>> strings = StringDictionary()
    >>> strings.code("é"), strings.code("é"), strings.text(1), strings.spans.tolist(), strings.lengths.tolist()
    (1, 1, 'é', [0, 0, 0, 2], [0, 1])
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__([])
        self.view = Texts(self._texts)
        self._codes: dict[str, int] = {}
        self._spans = np.zeros(128, np.int64)
        self._lengths = np.zeros(64, np.int64)
        self._data = np.zeros(1024, np.uint8)
        self._end = 0  # of the data
        self._free: list[int] = []
        self._constants: set[int] = {0}
        self._added = array("q")  # the codes of all texts in the order in which they came
        self._remained = 0
        self._results: dict[tuple[TextFunction, ...], _FunctionResults] = {}
        self._order = np.zeros(0, np.int64)
        self._ordered = 0  # how many of the added texts are in that order
        self._dictionaries: list[_KnownDictionary] = []
        self._bytes: int | None = None
        self._heaps: dict[tuple[tuple[TextFunction, ...], bool], Heap] = {}  # until there is another string
        self.code("")
        for text in texts:
            self.code(text)

    def __len__(self) -> int:
        """How far codes reach."""
        return len(self._texts)

    @property
    def used(self) -> int:
        """How many strings there are."""
        return len(self._codes)

    @property
    def crowded(self) -> bool:
        """Whether there are so many more strings than the last time that it is worth looking for those to free."""
        return self.used >= max(LEAST_CROWDED, 2 * self._remained)

    @property
    def nbytes(self) -> int:
        """About how much memory the strings take. It is counted when there are other strings or tables than before."""
        if self._bytes is None:
            self._bytes = self._count_bytes()
        return self._bytes

    def _count_bytes(self) -> int:
        """The bytes of strings as Python objects with their codes, and in the heap."""
        heap = self._data.nbytes + self._spans.nbytes + self._lengths.nbytes
        tables = sum([results.table.nbytes for results in self._results.values()])
        tables += sum([known.nbytes for known in self._dictionaries])
        return heap + tables + self._order.nbytes + self._end + _STRING_BYTES * self.used

    def code(self, text: str) -> int:
        """The code of a string; a new string gets a free one."""
        code = self._codes.get(text)
        return self._add(text) if code is None else code

    def constant(self, text: str) -> int:
        """The code of a string that is never freed, as a plan or a template has it."""
        code = self.code(text)
        self._constants.add(code)
        return code

    def free(self, held: Iterable[Ints]) -> None:
        """Frees the strings that are no constants and whose codes are not held; other numbers may be among these. A
        `view` of before has the old texts."""
        needed = np.zeros(len(self), np.bool_)
        needed[list(self._constants)] = True
        for codes in held:
            needed[codes[(codes >= 0) & (codes < len(needed))]] = True
        needed[self._free] = False
        kept = np.flatnonzero(needed).tolist()
        texts = [text if keep else "" for text, keep in zip(self._texts, needed.tolist(), strict=True)]
        self._texts, self.view = texts, Texts(texts)
        self._arrays.clear()
        self._codes = {texts[code]: code for code in kept}
        self._free = np.flatnonzero(~needed)[::-1].tolist()  # low codes are taken first
        self._results, self._ordered, self._order = {}, 0, np.zeros(0, np.int64)
        self._dictionaries, self._heaps, self._bytes = [], {}, None
        self._added = array("q", kept)
        self._remained = len(kept)
        encoded = [_encoded(texts[code]) for code in kept]
        ends = np.cumsum([len(text) for text in encoded])
        self._end = int(ends[-1])
        self._data = _with_room(np.frombuffer(b"".join(encoded), np.uint8).copy(), 1024)
        self._spans[: 2 * len(self)] = 0
        self._spans[2 * np.array(kept)] = ends - [len(text) for text in encoded]
        self._spans[2 * np.array(kept) + 1] = ends

    def encode(self, array: ArrowArray) -> tuple[Ints, Flags]:
        """The codes of an Arrow column of strings, and its NULLs. Only distinct values are looked up one by one."""
        if not isinstance(array, pa.ChunkedArray):
            return self._encode_chunk(array)
        if array.num_chunks == 1:
            return self._encode_chunk(array.chunk(0))
        encoded = [self._encode_chunk(chunk) for chunk in array.chunks]
        codes = np.concatenate([np.empty(0, np.int64), *(codes for codes, _ in encoded)])
        return codes, np.concatenate([np.empty(0, np.bool_), *(nulls for _, nulls in encoded)])

    @property
    def spans(self) -> Ints:
        """Where each string begins and ends in the heap."""
        return self._spans[: 2 * len(self)]

    @property
    def data(self) -> NDArray[np.uint8]:
        return self._data[: self._end]

    @property
    def lengths(self) -> Ints:
        """The length of each string in code points."""
        return self._lengths[: len(self)]

    def heap(self, functions: tuple[TextFunction, ...] = (), *, substrings: bool = False) -> Heap:
        """The arrays that kernels read: spans, data, the results of functions for each string, and all codes in the
        order of their strings.

        Kernels cannot create strings, so every string that a function may produce gets its code beforehand. With
        `substrings`, so do all parts of strings, of which there are many: a kernel then applies functions to them.
        """
        known = self._heaps.get((functions, substrings))
        if known is not None:
            return known
        results = self._results.setdefault(functions, _FunctionResults(np.zeros((1, len(functions)), np.int64)))
        while results.done < len(self._added) and (functions or substrings):
            codes = np.array(self._added[results.done :])
            texts = [self._texts[code] for code in codes.tolist()]
            results.done = len(self._added)
            results.table = _with_room(results.table, len(self))
            for number, function in enumerate(functions):
                results.table[codes, number] = [self._word(value) for value in apply(function, texts)]
            if substrings:
                self._add_parts(texts)
        if substrings and self._ordered < len(self._added):
            self._order = np.array(sorted(self._codes.values(), key=self._texts.__getitem__), np.int64)
            self._ordered = len(self._added)
        self._bytes = None
        heap = self._heaps[functions, substrings] = self.spans, self.data, results.table, self._order
        return heap

    def _word(self, value: str | bool) -> int:
        return self.code(value) if isinstance(value, str) else int(value)

    def _add_parts(self, texts: Iterable[str]) -> None:
        for text in texts:
            for first in range(len(text)):
                for last in range(first + 1, len(text)):
                    self.code(text[first:last])
                self.code(text[first:])

    def state(self) -> dict[str, Any]:
        """The texts of all codes; None for those that are free."""
        free = set(self._free)
        texts = [None if code in free else text for code, text in enumerate(self._texts)]
        return {"texts": texts, "remained": self._remained}

    @classmethod
    def restore(cls, state: Mapping[str, Any] | Sequence[str]) -> StringDictionary:
        """The strings of a snapshot. Early ones are the list of texts alone."""
        recorded: Any = state if isinstance(state, dict) else {"texts": state, "remained": 0}
        texts = recorded["texts"]
        require(isinstance(texts, list) and all(type(text) is str or text is None for text in texts), "the texts")
        known = [text for text in texts if text is not None]
        require(texts[:1] == [""] and len(set(known)) == len(known), "texts that are listed twice")
        strings = cls()
        for text in texts[1:]:
            if text is None:
                strings._append()
            else:
                strings._add(text)
        strings._free = [code for code, text in enumerate(texts) if text is None][::-1]
        strings._remained = whole(recorded["remained"], "the number of texts")
        return strings

    def _add(self, text: str) -> int:
        encoded = _encoded(text)
        code = self._free.pop() if self._free else self._append()
        start, self._end = self._end, self._end + len(encoded)
        self._data = _with_room(self._data, self._end)
        self._data[start : self._end] = np.frombuffer(encoded, np.uint8)
        self._spans[2 * code], self._spans[2 * code + 1] = start, self._end
        self._lengths[code] = len(text)
        self._texts[code] = text
        self._codes[text] = code
        for texts in (self, self.view):  # the code may have had another text
            texts._arrays.clear()
        self._added.append(code)
        self._heaps.clear()
        self._bytes = None
        return code

    def _append(self) -> int:
        """Room for one code more."""
        code = len(self._texts)
        self._texts.append("")
        self._spans = _with_room(self._spans, 2 * code + 2)
        self._lengths = _with_room(self._lengths, code + 1)
        return code

    def _encode_chunk(self, chunk: ArrowArray) -> tuple[Ints, Flags]:
        dictionary = chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else None
        if dictionary is not None and not _is_sparse(len(dictionary), len(chunk)):
            encoded, known = chunk.indices, self._known(dictionary)
        elif len(chunk) <= _FEW:
            known, count = self._codes_of(chunk.to_pylist()), len(chunk)
            return known.codes[:count], no_nulls(count) if known.missing is None else known.missing[:count]
        else:
            plain = chunk if dictionary is None else chunk.cast(chunk.type.value_type)
            coded = plain.dictionary_encode()
            encoded, known = coded.indices, self._codes_of(coded.dictionary.to_pylist())
        if encoded.null_count == 0 and known.missing is None:
            return known.codes.take(numpy_of(encoded)), no_nulls(len(encoded))
        indices = np.where(nulls_of(encoded), len(known.codes) - 1, numpy_of(encoded))
        missing = np.arange(len(known.codes)) == len(known.codes) - 1 if known.missing is None else known.missing
        return known.codes[indices], missing[indices]

    def _known(self, dictionary: ArrowArray) -> _KnownDictionary:
        """The codes of an Arrow dictionary. Batch after batch has the same: it is compared, and looked up once."""
        for known in self._dictionaries:
            if len(known.codes) == len(dictionary) + 1 and dictionary.equals(known.texts):
                return known
        texts = dictionary.to_pylist()
        # The caller may use the memory of the dictionary again: the texts are copied.
        known = replace(self._codes_of(texts), texts=arrow_of_values(texts, Type.STRING), nbytes=dictionary.nbytes)
        self._dictionaries = [known, *self._dictionaries[: _KNOWN_DICTIONARIES - 1]]
        self._bytes = None
        return known

    def _codes_of(self, texts: list[str | None]) -> _KnownDictionary:
        codes = np.array([*(0 if text is None else self.code(text) for text in texts), 0], np.int64)
        missing = np.array([*(text is None for text in texts), True], np.bool_) if None in texts else None
        return _KnownDictionary(codes, missing)


def _encoded(text: str) -> bytes:
    # A literal may hold a lone surrogate, which no event has: it must get a code all the same.
    return text.encode("utf-8", "surrogatepass")


@record
class _KnownDictionary:
    """The codes of an Arrow dictionary. One more entry stands for NULL, which Arrow writes as a missing
    index or as a missing text; `missing` is None where no text is."""

    codes: Ints
    missing: Flags | None
    texts: ArrowArray | None = None
    nbytes: int = 0


def _is_sparse(texts: int, rows: int) -> bool:
    return texts > max(_LONG_DICTIONARY, _SPARSE * rows)


@dataclass
class _FunctionResults:
    """The results of functions for the first `done` strings that were added: a row for each code."""

    table: Ints
    done: int = 0


def _with_room(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array with room for `length` rows; it grows by doubling, so that appending costs constant time on average."""
    if length <= len(array):
        return array
    larger = np.zeros((max(length, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
