"""Input settings: the time columns and read options that the caller of an engine gives for its streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from foretell.arguments.validation import EVERY_STREAM, as_mapping, as_time_columns, bad_argument
from foretell.events.ingest.read_options import ReadOptions
from foretell.events.ingest.time_column import JOINED
from foretell.records import record


@record
class InputSettings:
    """`time` has the time columns of streams without a STREAM statement, or two that make the time ('date+clock');
    `read` has the read options, by stream."""

    time: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, ReadOptions] = field(default_factory=dict)

    def options(self, stream: str) -> ReadOptions:
        options = self.read.get(stream) or self.read.get(EVERY_STREAM) or ReadOptions()
        parts = (self.named_time(stream) or "").split("+")
        return replace(options, time_columns=(parts[0], parts[1])) if len(parts) == 2 and all(parts) else options

    def time_column(self, stream: str) -> str | None:
        """The time column that the settings name; one that is joined from two has a name of its own."""
        return JOINED if self.options(stream).time_columns is not None else self.named_time(stream)

    def named_time(self, stream: str) -> str | None:
        """The time column, or the two that make the time, as the caller wrote it."""
        return self.time.get(stream, self.time.get(EVERY_STREAM))

    @property
    def streams(self) -> list[str]:
        """The streams that the settings name."""
        return [name for name in dict.fromkeys([*self.time, *self.read]) if name != EVERY_STREAM]


def as_input_settings(time: object, read: object = None) -> InputSettings:
    """Validate the `time` and `read` arguments; `read` is one ReadOptions for all streams, or a dict of them."""
    if isinstance(read, ReadOptions):
        return InputSettings(as_time_columns(time), {EVERY_STREAM: read})
    hint = "read={'logins': ReadOptions(delimiter=';')}"
    by_stream: dict[str, ReadOptions] = {}
    for stream, options in as_mapping({} if read is None else read, "read", hint).items():
        if not isinstance(options, ReadOptions):
            raise bad_argument(f"read of '{stream}'", "ReadOptions", options, hint)
        by_stream[stream] = options
    return InputSettings(as_time_columns(time), by_stream)
