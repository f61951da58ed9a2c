"""`foretell explain`: what was planned for each statement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from foretell.arguments.statements import load
from foretell.arguments.streams import tables_of
from foretell.errors import InputError, suggestion
from foretell.language.checked import CheckedSubscription
from foretell.notify.files import standard_output, writing_to
from foretell.plan.explain import Codes, as_mermaid, as_text, explain
from foretell.plan.sharing_report import together
from foretell.spark.batch.explain import on_spark

FORMATS = ("text", "mermaid", "json")


def show(file: Path, form: str, tables: Mapping[str, str]) -> None:
    """Explains the subscriptions of a file, as far as their streams are declared there and their tables are given."""
    if form not in FORMATS:
        raise InputError("unknown-format", f"unknown format '{form}'", hint=suggestion(form, FORMATS))
    program = load(file)
    given = {} if not tables else tables_of(program, tables)
    types = {name: table.types for name, table in given.items()}
    checked = program.checked(tables=types)
    for name, schema in checked.streams.items():
        if schema.open:
            raise InputError(
                "undeclared-stream",
                f"nothing is known of stream '{name}': its attributes decide what is planned",
                hint=f"declare it: STREAM {name} (attribute TYPE, ...) TIME column",
            )
    stream = standard_output()
    with writing_to(stream):
        for statement in checked.statements:
            if isinstance(statement, CheckedSubscription):
                explained = explain(statement, types.get(str(statement.tree.table)))
                if form == "json":
                    text = json.dumps(explained.as_dict())
                else:
                    text = as_text(explained) if form == "text" else as_mermaid(explained)
            else:
                text = json.dumps({"name": statement.name}) if form == "json" else f"{statement.name}: a correlator"
            stream.write(f"{text}\n".encode())
        shared = together([s for s in checked.statements if isinstance(s, CheckedSubscription)], Codes())
        if shared.subscriptions > 1 and form != "mermaid":
            text = json.dumps(shared.as_dict()) if form == "json" else shared.as_text()
            stream.write(f"{text}\n".encode())
        if form != "mermaid" and all(isinstance(s, CheckedSubscription) for s in checked.statements):
            told = on_spark(program, checked, given)
            text = json.dumps(told.as_dict()) if form == "json" else told.as_text()
            stream.write(f"{text}\n".encode())
