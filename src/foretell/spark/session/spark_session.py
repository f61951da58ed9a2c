"""The Spark session that everything of ours in Spark runs in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from foretell.spark.session.java import java_home

# Where one of these is set the user brings a Spark with its own configuration (spark-submit, a cluster's client,
# Spark Connect); what we would choose for a laptop could then be wrong, and a master may be configured there.
_USERS_OWN = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")

_LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
}

# Events and notifications go packed, a value for many rows: what Spark counts in rows must be counted in bytes. What
# comes back is what the caller asked for, all of it.
_PACKED = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    "spark.driver.maxResultSize": "0",
    "spark.driver.memory": "3g",
}

# A laptop's host name often resolves to an address of another network or to none.
_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def session(name: str = "foretell", **conf: str | int | float | bool) -> SparkSession:
    """The active session, or a new one: in this process's machine, on all cores, unless `conf` says otherwise.

    Spark's own names have dots: `session(**{"spark.sql.shuffle.partitions": 4})`. Those given are applied to a
    session that is there already as far as Spark lets them be changed; our defaults are not.
    """
    if SparkSession.getActiveSession() is not None:
        return _builder(conf).getOrCreate()
    # Workers would otherwise take the python3 of the PATH, which need not have our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "PYSPARK_GATEWAY_PORT" not in os.environ and "SPARK_REMOTE" not in os.environ:
        # No JVM runs yet. The one that Spark starts inherits our environment.
        os.environ["JAVA_HOME"] = str(java_home())
    return _builder(_defaults(conf) | {"spark.app.name": name} | conf).getOrCreate()


def _defaults(conf: dict[str, str | int | float | bool]) -> dict[str, str | int | float | bool]:
    if any(os.environ.get(variable) for variable in _USERS_OWN):
        return {}
    if not str(conf.get("spark.master", "local")).startswith("local"):
        return {**_QUIET, **_PACKED}
    # Before it knows its configuration Spark looks its host name up and complains about what it finds.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # A task whose worker process dies is tried again, as on a cluster; in local mode Spark would give up at once.
    return {"spark.master": "local[*,4]", **_QUIET, **_PACKED, **_LOOPBACK}


def _builder(conf: dict[str, str | int | float | bool]) -> SparkSession.Builder:
    return SparkSession.builder.config(map=dict(conf))
