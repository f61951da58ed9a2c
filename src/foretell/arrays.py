"""Array types that several packages share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
#: Points in time: int64 (nanoseconds or a plain INT) or float64.
Times: TypeAlias = NDArray[Any]
Arrays: TypeAlias = tuple[NDArray[Any], ...]
