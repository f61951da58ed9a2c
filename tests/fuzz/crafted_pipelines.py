"""Pipeline files that somebody made up: each is refused with a reason, or read."""

from __future__ import annotations

from pathlib import Path
from random import Random

from foretell.cli.pipeline_file import read_pipeline
from foretell.errors import ForetellError
from tests.fuzz.work_folder import work_folder

ORIGINAL = '''
text = """STREAM s (k STRING, t INT) TIME t; SUBSCRIBE m FROM s MATCH a;"""
checkpoint = "checkpoint"
trigger = "10 seconds"
shards = 4
kinds = ["match", "late"]
[streams.s]
path = "in"
format = "json"
schema = "k STRING, t BIGINT"
time = "t"
[streams.s.options]
maxFilesPerTrigger = 1
[streams.r]
format = "foretell_mqtt"
[streams.r.options]
host = "localhost"
password = "env:PASSWORD"
[streams.s.read]
nulls = ["NA"]
[tables]
limits = "limits.csv"
[output]
format = "console"
[limits]
lane = 10
then = "drop"
[spark]
"spark.sql.shuffle.partitions" = 2
'''

MARKS = ('"', "'", "[", "]", "=", "\n", "[[", "]]", ".", "{", "}", '"""', "..", "\r")
VALUES = ("1e999", "9" * 400, "\x00", "\ud800", "true", "nan", "-1", "1979-05-27", "[" * 3000, "{a=" * 500, "9" * 5000)
PARTS = (*MARKS, *VALUES, "streams", "s", "é", "lane", "path", "options")


def prepare(numbers: range) -> Path:
    """The file that each case writes."""
    folder = work_folder()
    path = folder / "pipeline.toml"
    path.write_text(ORIGINAL)
    read_pipeline(path)
    return path


def run(number: int, prepared: Path) -> str:
    chance = Random(number)
    text = ORIGINAL
    for _ in range(chance.choice([1, 1, 2, 5])):
        at, length = chance.randrange(len(text)), chance.choice([0, 1, 1, 5, 20])
        text = text[:at] + chance.choice(["", *PARTS]) + text[at + length :]
    if chance.random() < 0.2:
        lines = text.split("\n")
        chance.shuffle(lines)
        text = "\n".join(lines)
    prepared.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        read_pipeline(prepared)
    except ForetellError:
        return "refused"
    return "read"
