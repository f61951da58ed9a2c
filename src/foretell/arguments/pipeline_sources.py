"""The sources of a pipeline: declarations of its streams, checks of its places, and the mark of its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from foretell.arguments.pipeline import Pipeline
from foretell.arguments.streams import check_input_names, declaration_of
from foretell.errors import InputError
from foretell.events.ingest.file_survey import FileSurvey
from foretell.events.ingest.reader import StreamDeclaration
from foretell.events.ingest.watched_files import contains
from foretell.language import tree
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.storage.private_files import make_private_folder, open_private

#: The file of a checkpoint that says whose it is.
_MARK = "foretell.json"


def declared_stream(pipeline: Pipeline, name: str) -> StreamDeclaration:
    """The declaration of a stream by its STREAM statement and the pipeline's settings."""
    return declaration_of(pipeline.statements, name, pipeline.settings)


def surveyed_declarations(
    pipeline: Pipeline, own_mark: Mapping[str, object]
) -> tuple[dict[str, StreamDeclaration], list[str]]:
    """The declarations of the streams that come in files which we read, and notes on what was inferred.

    `own_mark` is written into the checkpoint; one with another mark is refused.
    """
    check_input_names(pipeline.statements, pipeline.streams, pipeline.settings)
    _check_places(pipeline)
    marked = _checkpoint_mark(pipeline, own_mark)
    survey = FileSurvey.of(marked)
    declarations = {
        name: survey.complete(declared_stream(pipeline, name), str(source.path))
        for name, source in pipeline.streams.items()
        if source.whole_files
    }
    _mark_checkpoint(pipeline, {**marked, **own_mark, **survey.mark})
    return declarations, survey.notes


def _check_places(pipeline: Pipeline) -> None:
    """Raise where the pipeline would read its own files as events."""
    places = {"checkpoint": pipeline.checkpoint, "output": None if pipeline.output is None else pipeline.output.path}
    places |= {kind: str(path) for kind, path in pipeline.side_files.items()}
    for name, source in pipeline.streams.items():
        for subject, place in places.items():
            if source.whole_files and place is not None and contains(str(source.path), place):
                message = f"stream '{name}' would read the files of '{place}' ({subject}): it watches {source.path}"
                raise InputError("watched-place", message, hint="use a folder outside of it")


def _checkpoint_mark(pipeline: Pipeline, own_mark: Mapping[str, object]) -> dict[str, object]:
    """Read the mark of a checkpoint, which must be this pipeline's: its offsets would be those of other streams."""
    path = Path(pipeline.checkpoint) / _MARK
    if not path.exists():
        return {}
    marked: dict[str, object] = json.loads(path.read_text(encoding="utf-8"))
    for subject, value in own_mark.items():
        if marked.get(subject) != value:
            message = f"the checkpoint {pipeline.checkpoint} belongs to another pipeline: its {subject}"
            message = f"{message}: {marked.get(subject)}, not {value}"
            raise InputError("other-checkpoint", message, hint="use another folder")
    return marked


def _mark_checkpoint(pipeline: Pipeline, mark: Mapping[str, object]) -> None:
    path = Path(pipeline.checkpoint) / _MARK
    # Spark writes what it keeps below this folder, with the permissions that Hadoop gives it.
    make_private_folder(path.parent)
    with open_private(path, "wb") as file:
        file.write(json.dumps(mark).encode())


def with_streams(program: Subscriptions, declarations: Mapping[str, StreamDeclaration]) -> Subscriptions:
    """The program with STREAM statements for all streams and types, as an engine needs them before events."""
    streams = [_stream_statement(d, program.declared.get(name)) for name, d in declarations.items()]
    others = [s for s in program.program.statements if not isinstance(s, tree.Stream)]
    try:
        return of_program(tree.Program((*streams, *others)))
    except InputError as error:
        raise error.within(program.text, program.file) from None


def _stream_statement(declaration: StreamDeclaration, declared: tree.Stream | None) -> tree.Stream:
    attributes = tuple(tree.Declared(name, kind) for name, kind in declaration.attributes.items())
    if declared is None:
        return tree.Stream(declaration.stream, attributes, declaration.time)
    return replace(declared, attributes=attributes)
