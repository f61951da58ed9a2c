"""The Spark session, with defaults for one machine."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from foretell.errors import InputError
from foretell.spark.session.java import java_home
from foretell.spark.session.jvm import Jvm
from foretell.spark.task_errors import first_line

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

# Loggers of PySpark that repeat an exception which it raises, as a line of JSON with the whole stack.
_REPEATING_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

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
    settings = {key: _text(value) for key, value in (_defaults(conf) | {"spark.app.name": name} | conf).items()}
    if "PYSPARK_GATEWAY_PORT" not in os.environ and "SPARK_REMOTE" not in os.environ and SparkContext._gateway is None:
        # No JVM runs yet; the one that we start inherits this environment.
        os.environ["JAVA_HOME"] = str(java_home())
        _start(settings)
    return _builder(settings).getOrCreate()


def quiet_session(name: str = "foretell", **conf: str | int | float | bool) -> SparkSession:
    """Return the active session, or start one that logs nothing: for runs whose errors all reach their caller."""
    active = SparkSession.getActiveSession()
    spark = session(name, **conf)
    if active is None and not _users_own() and "spark.log.level" not in conf:
        spark.sparkContext.setLogLevel("OFF")
        logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    return spark


def _start(settings: dict[str, str]) -> None:
    """Start a JVM and a Spark context in it, which the session takes."""
    jvm = Jvm(settings, silent=not _users_own())
    handler = signal.getsignal(signal.SIGINT)
    try:
        SparkContext(conf=SparkConf().setAll(list(settings.items())), gateway=jvm.connect())
    except (PySparkException, Py4JError, OSError) as error:
        jvm.end()
        raise InputError("no-spark", f"Spark does not start: {first_line(error)}") from error
    except BaseException:
        jvm.end()
        raise
    if handler is not signal.default_int_handler and threading.current_thread() is threading.main_thread():
        # Spark replaces the handler of Ctrl-C by one that cancels its jobs, also where an application has its own.
        signal.signal(signal.SIGINT, handler)
    for logger in () if _users_own() else _REPEATING_LOGGERS:
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL + 1)
    jvm.forward_errors()


def _defaults(conf: dict[str, str | int | float | bool]) -> dict[str, str | int | float | bool]:
    if _users_own():
        return {}
    if not str(conf.get("spark.master", "local")).startswith("local"):
        return {**_QUIET, **_PACKED}
    # Spark looks up its host name before it reads its configuration, and warns about the result.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Retry a task whose worker process dies, as on a cluster; in local mode Spark would give up at once.
    return {"spark.master": "local[*,4]", **_QUIET, **_PACKED, **_LOOPBACK}


def _users_own() -> bool:
    return any(os.environ.get(variable) for variable in _USERS_OWN)


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _builder(conf: Mapping[str, str | int | float | bool]) -> SparkSession.Builder:
    return SparkSession.builder.config(map=dict(conf))
