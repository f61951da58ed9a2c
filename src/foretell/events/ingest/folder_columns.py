"""Columns of Hive-style folders: every row of year=2024/month=01/events.csv has the year 2024 and the month '01'."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from foretell.events.arrow_interop import arrow_of, arrow_of_values
from foretell.events.ingest.input_files import InputFile
from foretell.events.ingest.null_markers import NullMarkers
from foretell.events.ingest.raw_columns import ArrowArray, RawColumn, RawTable
from foretell.events.ingest.text_columns import TextColumn
from foretell.events.types import Type
from foretell.records import record

_INT = re.compile(r"0|-?[1-9][0-9]{0,17}")


@record
class FolderColumn(TextColumn):
    """A column of folder names: INT where all are whole numbers without leading zeros, else STRING.

    `folders` has the text of each folder, also of those without rows.
    """

    folders: tuple[str | None, ...]

    def infer_type(self) -> Type:
        texts = [text for text in self.folders if text is not None]
        if not texts:
            return Type.NULL
        return Type.INT if all(map(_INT.fullmatch, texts)) else Type.STRING

    def infer_time_type(self) -> Type:
        return TextColumn(self.name, arrow_of_values(self.folders, Type.STRING)).infer_time_type()

    def without(self, markers: NullMarkers) -> Self:
        folders = tuple(None if text is None or text.strip() in markers.fields else text for text in self.folders)
        return replace(super().without(markers), folders=folders)


def constant_columns(file: InputFile, types: Mapping[str, Type], rows: int) -> dict[str, ArrowArray]:
    """The folder columns of one file in their types, as far as these are asked for."""
    columns: dict[str, ArrowArray] = {}
    for name, text in file.keys:
        if name in types:
            values = TextColumn(name, arrow_of_values([text], Type.STRING)).cast(types[name]).values
            columns[name] = values.take(arrow_of(np.zeros(rows, np.int64)))
    return columns


def with_folder_columns(raw: RawTable, files: Sequence[InputFile]) -> RawTable:
    """The rows of the files, one origin each, with the columns of their folders. These replace columns of the same
    names in the files, as on Spark."""
    names = dict.fromkeys(name for file in files for name, _ in file.keys)
    if not names:
        return raw
    file_of_row = arrow_of(np.repeat(np.arange(len(files)), [len(origin.numbers) for origin in raw.origins]))
    columns: dict[str, RawColumn] = {}
    for name in names:
        folders = tuple(dict(file.keys).get(name) for file in files)
        columns[name] = FolderColumn(name, arrow_of_values(folders, Type.STRING).take(file_of_row), folders)
    origins = [
        origin if origin.columns is None else replace(origin, columns=[*origin.columns, *dict(file.keys)])
        for origin, file in zip(raw.origins, files, strict=True)
    ]
    known = [*raw.names, *(name for name in names if name not in raw.names)]
    return replace(raw, columns={**raw.columns, **columns}, names=known, origins=origins)
