"""Input settings: the time columns and read options that the caller of an engine gives for its streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foretell.arguments.validation import as_mapping, as_time_columns, bad_argument
from foretell.events.ingest.read_options import ReadOptions

_EVERY_STREAM = "*"


@dataclass(frozen=True)
class InputSettings:
    """`time` has the time columns of streams without a STREAM statement; `read` the read options, by stream."""

    time: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, ReadOptions] = field(default_factory=dict)

    def options(self, stream: str) -> ReadOptions:
        return self.read.get(stream) or self.read.get(_EVERY_STREAM) or ReadOptions()

    @property
    def streams(self) -> list[str]:
        """The streams that the settings name."""
        return list(dict.fromkeys([*self.time, *(name for name in self.read if name != _EVERY_STREAM)]))


def as_input_settings(time: object, read: object = None) -> InputSettings:
    """Validate the `time` and `read` arguments; `read` is one ReadOptions for all streams, or a dict of them."""
    if isinstance(read, ReadOptions):
        return InputSettings(as_time_columns(time), {_EVERY_STREAM: read})
    hint = "read={'logins': ReadOptions(delimiter=';')}"
    by_stream: dict[str, ReadOptions] = {}
    for stream, options in as_mapping({} if read is None else read, "read", hint).items():
        if not isinstance(options, ReadOptions):
            raise bad_argument(f"read of '{stream}'", "ReadOptions", options, hint)
        by_stream[stream] = options
    return InputSettings(as_time_columns(time), by_stream)
