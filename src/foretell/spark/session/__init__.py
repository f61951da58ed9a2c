"""The Spark session, and the Java that it runs on."""

from foretell.spark.session.spark_session import session

__all__ = ["session"]
