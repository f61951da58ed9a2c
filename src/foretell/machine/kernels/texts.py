"""Functions of texts in kernels. All texts lie as UTF-8 in one heap.

A text is the code c of `data[offsets[2 * c]:offsets[2 * c + 1]]`, or a slice that a condition has cut out of such a
text: the complement of its place in the heap and its number of bytes.
"""

from __future__ import annotations

from foretell.machine.kernels.decorators import inlined, kernel
from foretell.machine.kernels.layout import Array

PERCENT, UNDERSCORE = ord("%"), ord("_")

#: Bits for the number of bytes of a slice; the others are for its place.
SIZE_BITS = 28
SIZE_MASK = (1 << SIZE_BITS) - 1


@inlined
def text_start(text: int, offsets: Array) -> int:
    return offsets[2 * text] if text >= 0 else ~text >> SIZE_BITS


@inlined
def text_stop(text: int, offsets: Array) -> int:
    return offsets[2 * text + 1] if text >= 0 else (~text >> SIZE_BITS) + (~text & SIZE_MASK)


@kernel
def compare_texts(left: int, right: int, offsets: Array, data: Array) -> int:
    """Less than, equal to or greater than 0; bytes of UTF-8 have the order of their code points."""
    a, b = text_start(left, offsets), text_start(right, offsets)
    a_end, b_end = text_stop(left, offsets), text_stop(right, offsets)
    while a < a_end and b < b_end:
        if data[a] != data[b]:
            return -1 if data[a] < data[b] else 1
        a += 1
        b += 1
    return int((a_end - a) - (b_end - b))


@kernel
def contains(text: int, part: int, offsets: Array, data: Array) -> bool:
    """No code point's bytes begin inside another's, so bytes can be compared."""
    begin, size = text_start(part, offsets), text_stop(part, offsets) - text_start(part, offsets)
    for at in range(text_start(text, offsets), text_stop(text, offsets) - size + 1):
        if _same_bytes(at, begin, size, data):
            return True
    return False


@kernel
def is_like(text: int, pattern: int, offsets: Array, data: Array) -> bool:
    """Where what follows a % does not fit, the % takes one code point more; only the latest % need ever do so."""
    at, end = text_start(text, offsets), text_stop(text, offsets)
    wanted, last = text_start(pattern, offsets), text_stop(pattern, offsets)
    retry_at, retry_wanted = -1, -1
    while at < end:
        if wanted < last and data[wanted] == PERCENT:
            retry_at, retry_wanted = at, wanted + 1
            wanted += 1
        elif wanted < last and data[wanted] == UNDERSCORE:
            at = _next_code_point(at, end, data)
            wanted += 1
        elif wanted < last and data[wanted] == data[at]:
            at += 1
            wanted += 1
        elif retry_wanted >= 0:
            retry_at = _next_code_point(retry_at, end, data)
            at, wanted = retry_at, retry_wanted
        else:
            return False
    while wanted < last and data[wanted] == PERCENT:
        wanted += 1
    return bool(wanted == last)


@inlined
def _next_code_point(at: int, end: int, data: Array) -> int:
    at += 1
    while at < end and data[at] & 0xC0 == 0x80:
        at += 1
    return at


@kernel
def length(text: int, offsets: Array, data: Array) -> int:
    """In code points."""
    count = 0
    for at in range(text_start(text, offsets), text_stop(text, offsets)):
        if data[at] & 0xC0 != 0x80:
            count += 1
    return count


@kernel
def starts_with(text: int, part: int, offsets: Array, data: Array) -> bool:
    begin, size = text_start(part, offsets), text_stop(part, offsets) - text_start(part, offsets)
    at = text_start(text, offsets)
    return bool(text_stop(text, offsets) - at >= size) and _same_bytes(at, begin, size, data)


@kernel
def ends_with(text: int, part: int, offsets: Array, data: Array) -> bool:
    begin, size = text_start(part, offsets), text_stop(part, offsets) - text_start(part, offsets)
    at = text_stop(text, offsets) - size
    return bool(at >= text_start(text, offsets)) and _same_bytes(at, begin, size, data)


@inlined
def _same_bytes(left: int, right: int, size: int, data: Array) -> bool:
    same = 0
    while same < size and data[left + same] == data[right + same]:
        same += 1
    return same == size


@kernel
def substring(text: int, start: int, count: int, to_end: bool, offsets: Array, data: Array) -> int:
    """A slice of a text, as SQL's SUBSTR: from character `start`, so many characters or all `to_end`.

    The first character is number 1, the last one -1; 0 is the first too.
    """
    at, end = text_start(text, offsets), text_stop(text, offsets)
    first = start - 1 if start > 0 else start + length(text, offsets, data) if start < 0 else 0
    if first < 0:  # what lies before the text is taken from the count
        count += first if count > 0 else 0
        first = 0
    while first > 0 and at < end:
        at = _next_code_point(at, end, data)
        first -= 1
    stop = at
    while (count > 0 or to_end) and stop < end:
        stop = _next_code_point(stop, end, data)
        count -= 1
    return ~((at << SIZE_BITS) | (stop - at))


@kernel
def code_of_slice(text: int, order: Array, offsets: Array, data: Array) -> int:
    """The code of a slice, which is among the texts whose codes are in `order`, by their bytes."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if compare_texts(order[middle], text, offsets, data) < 0:
            low = middle + 1
        else:
            high = middle
    return int(order[low])
