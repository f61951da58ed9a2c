"""One Spark session for all tests of this folder, since starting it takes long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from foretell.spark.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # A shuffle into Spark's 200 partitions costs seconds on two cores.
    spark = session("foretell-tests", **{"spark.sql.shuffle.partitions": 4})
    yield spark
    spark.stop()
