"""The help of a command: options in named groups, texts that are not cut off, and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup


class PlainValue:
    """Converts the value of a flag, a text or a path in place of typer, which loads Pydantic for it: a tenth of a
    second."""

    def __init__(self, kind: type[bool | str | Path]) -> None:
        self._kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return [self._kind(text) for text in value] if isinstance(value, list | tuple) else self._kind(value)


_PLAIN: dict[object, type[bool | str | Path]] = {bool: bool, str: str, list[str]: str, Path: Path, list[Path]: Path}


def _with_plain_values(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        kind = _PLAIN.get(getattr(getattr(parameter, "type_descriptor", None), "annotation", None))
        if kind is not None:
            parameter._runtime_param = PlainValue(kind)  # typer makes its own on first use
    return parameters


class GroupedCommand(TyperCommand):
    """A command whose options are listed in their groups; plain text, so that it fits any terminal."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_plain_values(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the usage line, without the braces of typer around an argument."""
        return [str(piece).translate({ord("{"): None, ord("}"): None}) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                name = getattr(parameter, "rich_help_panel", None) or default
                word = record[0].partition(" ")[0] if default == "Arguments" else record[0]  # without its type
                sections.setdefault(name, []).append((word, record[1]))
        # The group without a name comes after those of the inputs, with --help as its last option.
        for name in sorted(sections, key=lambda name: name == "Options"):
            with formatter.section(name):
                formatter.write_dl(sections[name])

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence, whole: the list of commands wraps it."""
        return (self.help or "").partition("\n\n")[0].replace("\n", " ")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.epilog, formatter)


#: The commands in the order in which people need them; they are defined in several modules.
_ORDER = ("run", "init", "check", "format", "train", "backtest", "loss", "demo", "explain", "lsp", "bench")


class CommandList(TyperGroup):
    """The list of the commands, with whole sentences."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))

    def get_params(self, ctx: Any) -> list[Any]:
        return _with_plain_values(super().get_params(ctx))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        write_examples(self.epilog, formatter)


def write_examples(text: str | None, formatter: Any) -> None:
    """Write examples as they stand, without wrapping their lines."""
    if text:
        with formatter.section("Examples"):
            for line in text.strip().splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n" if line else "\n")
