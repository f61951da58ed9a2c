"""The Spark session, its JVM, and the Java that it runs on."""

from foretell.spark.session.jvm import end_spark
from foretell.spark.session.spark_session import session

__all__ = ["end_spark", "session"]
