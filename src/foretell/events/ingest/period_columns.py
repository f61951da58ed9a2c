"""Columns of pandas periods, such as months and quarters, for which Arrow has no type: a period is its start time."""

from __future__ import annotations

from typing import Any


def with_start_times(frame: Any) -> Any:
    """A frame with timestamps in the place of pandas' periods, in its columns and its index."""
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "dtypes"):
        return frame
    if _is_period(getattr(frame.index, "dtype", None)):
        frame = frame.set_axis(frame.index.to_timestamp(), axis=0)
    periods = [position for position, kind in enumerate(frame.dtypes) if _is_period(kind)]
    if not periods:
        return frame
    columns = [frame.iloc[:, p].dt.to_timestamp() if p in periods else frame.iloc[:, p] for p in range(frame.shape[1])]
    import pandas as pd  # the caller has it already

    return pd.concat(columns, axis=1)


def _is_period(kind: object) -> bool:
    return type(kind).__name__ == "PeriodDtype"
