"""The engine in process: `Engine` with push, advance, snapshot, restore, subscribe."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.engine.engine import ColumnarResult, Engine
    from foretell.engine.snapshot import LAYOUT

__all__ = ["LAYOUT", "ColumnarResult", "Engine"]


if not TYPE_CHECKING:  # a type checker would take every name for one that this function finds

    def __getattr__(name: str) -> Any:
        """Load a name on first use: a batch needs no more than `planning`."""
        if name == "LAYOUT":
            from foretell.engine import snapshot as module
        elif name in __all__:
            from foretell.engine import engine as module
        else:
            raise AttributeError(f"module 'foretell.engine' has no attribute '{name}'")
        return getattr(module, name)
