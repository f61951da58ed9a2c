"""Secrets: passwords and tokens, which come from the environment or a file and show nowhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from foretell.errors import InputError

_ENVIRONMENT, _FILE = "env:", "file:"

#: In the names of headers whose values are secrets.
_SECRET_WORDS = ("auth", "token", "secret", "password", "key", "cookie", "credential", "signature")


@dataclass(frozen=True)
class Secret:
    """Where a secret is: `env:NAME`, a variable of the environment, or `file:PATH`, the first line of a file.

    Only this place is handed on and written down. The secret itself is read where a connection is made.

    >>> Secret.of("password", "env:BROKER_PASSWORD")
    Secret(place='env:BROKER_PASSWORD')
    """

    place: str

    @classmethod
    def of(cls, name: str, value: str) -> Secret:
        """The secret of an option, which must say where it is: Spark shows the options of a query."""
        if not value.startswith((_ENVIRONMENT, _FILE)):
            hint = f"write {_ENVIRONMENT}VARIABLE or {_FILE}/path/of/a/file"
            raise InputError("plain-secret", f"the option '{name}' is a secret and must not be written down", hint=hint)
        return cls(value)

    def read(self) -> str:
        if self.place.startswith(_ENVIRONMENT):
            name = self.place.removeprefix(_ENVIRONMENT)
            if name not in os.environ:
                raise InputError("no-secret", f"the environment has no variable '{name}'", hint="set it for the driver")
            return os.environ[name]
        path = Path(self.place.removeprefix(_FILE))
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is not a text"
            raise InputError("no-secret", f"cannot read the secret in '{path}': {why}") from None
        return lines[0] if lines else ""


def revealed(value: str | Secret) -> str:
    """The secret, or a text that is at hand already."""
    return value.read() if isinstance(value, Secret) else value


def is_secret_header(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)
