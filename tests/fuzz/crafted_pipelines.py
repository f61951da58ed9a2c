"""Pipeline files that somebody made up: each is refused with a reason, or read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from foretell.cli.pipeline_file import read_pipeline
from foretell.errors import ForetellError

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


def prepare() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pipeline.toml").write_text(ORIGINAL)
        read_pipeline(Path(folder) / "pipeline.toml")


def run(number: int, prepared: None) -> str:
    chance = Random(number)
    text = ORIGINAL
    for _ in range(chance.choice([1, 1, 2, 5])):
        at, length = chance.randrange(len(text)), chance.choice([0, 1, 1, 5, 20])
        text = text[:at] + chance.choice(["", *PARTS]) + text[at + length :]
    if chance.random() < 0.2:
        lines = text.split("\n")
        chance.shuffle(lines)
        text = "\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            read_pipeline(path)
        except ForetellError:
            return "refused"
    return "read"
