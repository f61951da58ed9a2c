"""The Spark session, with defaults for one machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from foretell.spark.session.java import java_home

# If one of these is set, the user has a Spark with its own configuration (spark-submit, a cluster's client, Spark
# Connect): defaults for one machine could be wrong there, and a master may be configured.
_USERS_OWN = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")

_LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
}

# A shuffle row holds many events, so batches that Spark limits by rows must be limited by bytes. The driver returns all
# notifications, however large they are.
_PACKED = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    "spark.driver.maxResultSize": "0",
    "spark.driver.memory": "3g",
}

# A laptop's host name often resolves to an address of another network, or not at all.
_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def session(name: str = "foretell", **conf: str | int | float | bool) -> SparkSession:
    """Return the active session, or start one: on all cores of this machine, unless `conf` sets another master.

    Spark's option names have dots: `session(**{"spark.sql.shuffle.partitions": 4})`. They are applied to an active
    session as far as Spark allows; our defaults are not.
    """
    if SparkSession.getActiveSession() is not None:
        return _builder(conf).getOrCreate()
    # Workers would otherwise run the python3 of the PATH, which may lack our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if "PYSPARK_GATEWAY_PORT" not in os.environ and "SPARK_REMOTE" not in os.environ:
        # No JVM runs yet; the one that Spark starts inherits this environment.
        os.environ["JAVA_HOME"] = str(java_home())
    return _builder(_defaults(conf) | {"spark.app.name": name} | conf).getOrCreate()


def _defaults(conf: dict[str, str | int | float | bool]) -> dict[str, str | int | float | bool]:
    if any(os.environ.get(variable) for variable in _USERS_OWN):
        return {}
    if not str(conf.get("spark.master", "local")).startswith("local"):
        return {**_QUIET, **_PACKED}
    # Spark looks up its host name before it reads its configuration, and warns about the result.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Retry a task whose worker process dies, as on a cluster; in local mode Spark would give up at once.
    return {"spark.master": "local[*,4]", **_QUIET, **_PACKED, **_LOOPBACK}


def _builder(conf: dict[str, str | int | float | bool]) -> SparkSession.Builder:
    return SparkSession.builder.config(map=dict(conf))
