"""The Spark session, its JVM, and the Java that it runs on."""

from foretell.extras import require_extra

require_extra("spark", "Foretell on Spark")

from foretell.spark.session.jvm import end_spark  # noqa: E402
from foretell.spark.session.spark_session import session  # noqa: E402

__all__ = ["end_spark", "session"]
