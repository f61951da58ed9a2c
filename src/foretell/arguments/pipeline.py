"""Pipelines as their files describe them: sources, statements, one sink and a checkpoint.

Spark's streaming queries and the embedded service run the same pipelines; neither is needed to read one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from foretell.arguments.input_settings import InputSettings
from foretell.events.ingest.read_options import DEFAULT_OPTIONS, ReadOptions
from foretell.language.subscriptions import Subscriptions
from foretell.machine.exec.limits import Limits

#: Files that our own readers read, each by its own format; and the formats that name them alike.
WHOLE_FILES = "files"
OWN_FORMATS = (WHOLE_FILES, "json", "csv", "parquet")
FILE_FORMATS = (*OWN_FORMATS, "orc")
#: Formats of files with typed columns.
_STRUCTURED = ("parquet", "orc", "delta", "iceberg")


@dataclass(frozen=True)
class Endpoint:
    """A source or sink of rows: one of Spark's formats, the path of its files, and its options.

    `schema` makes Spark parse files; `time` and `read` are for a source of events (see `ft.run`).
    """

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None
    time: str | None = None
    read: ReadOptions = DEFAULT_OPTIONS

    @property
    def whole_files(self) -> bool:
        """Whether our own readers read the files, each as a whole."""
        return self.format in OWN_FORMATS and self.schema is None


@dataclass(frozen=True)
class Pipeline:
    """`output` None is standard output, as JSON lines. `kinds` are the kinds of rows to write; None means all, on
    standard output all notifications. `side_files` has the files for late and malformed events beside it, by kind.
    `model` is a file of `foretell train`. With `json`, Parquet has JSON text instead of structs."""

    statements: Subscriptions
    streams: Mapping[str, Endpoint]
    checkpoint: str
    output: Endpoint | None = None
    tables: Mapping[str, object] = field(default_factory=dict)
    control: Endpoint | None = None
    trigger: str | None = None
    kinds: tuple[str, ...] | None = None
    shards: int = 8
    limits: Limits | None = None
    spark: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    side_files: Mapping[str, Path] = field(default_factory=dict)
    model: str | None = None
    json: bool = False

    @property
    def writes_json(self) -> bool:
        """Whether key, bindings and events are JSON text: files of Parquet or ORC have structs, unless the statements
        may change, which would change their types."""
        return self.json or self.control is not None or self.output is None or self.output.format not in _STRUCTURED

    @property
    def settings(self) -> InputSettings:
        time = {name: source.time for name, source in self.streams.items() if source.time is not None}
        return InputSettings(time, {name: source.read for name, source in self.streams.items()})
