"""Arrow's functions, which load when the first of them is called: that takes 40 ms, and small batches need none.

>>> pc.add(1, 2).as_py()
3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["pc"]

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:

    class _ArrowFunctions:
        def __getattr__(self, name: str) -> Any:
            import pyarrow.compute

            function = getattr(pyarrow.compute, name)
            setattr(self, name, function)
            return function

    pc = _ArrowFunctions()
