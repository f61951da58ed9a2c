"""Files and tables that Spark reads itself: tables of its catalog, Avro, ORC, Delta and Iceberg, and addresses for
which no Python package is installed."""

from __future__ import annotations

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from foretell.errors import InputError
from foretell.events.ingest.file_systems import packages_for, scheme_of
from foretell.events.ingest.formats import FetchedFiles
from foretell.events.ingest.input_files import PARQUET, SPARK_FORMATS, InputFiles, files_among
from foretell.events.ingest.read_options import ReadOptions

_JARS = {
    "Avro": "org.apache.spark:spark-avro_2.13",
    "Delta": "io.delta:delta-spark_2.13",
    "Iceberg": f"org.apache.iceberg:iceberg-spark-runtime-{'.'.join(pyspark.__version__.split('.')[:2])}_2.13",
}
#: The file systems of Hadoop that do not come with Spark.
_FILE_SYSTEM_JARS = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}

#: An address of which Spark knows no file system raises Java's own error.
_SPARK_ERRORS = (PySparkException, Py4JJavaError)


def spark_frame(spark: SparkSession, listing: InputFiles) -> DataFrame:
    """The rows of a source that Spark reads by itself."""
    try:
        if listing.format == "table":
            return spark.table(listing.name)
        reader = spark.read.format(listing.format.lower())
        if not listing.files or any(file.keys for file in listing.files):  # Spark finds the columns of folders itself
            return reader.load(listing.name)
        return reader.load([file.path for file in listing.files])
    except _SPARK_ERRORS as error:
        raise _unreadable(listing, error) from None


def fetch(spark: SparkSession, address: str, options: ReadOptions) -> FetchedFiles | InputFiles:
    """The files of an address that Spark can read: their contents, or of binary formats only the listing."""
    try:
        found = spark.read.format("binaryFile").option("recursiveFileLookup", True).load(address)
        names = [row["path"] for row in found.select("path").collect()]
        base = address.rstrip("/")
        listing = files_among(base if names != [base] else base.rpartition("/")[0], names, options)
        if listing.format == PARQUET or listing.format in SPARK_FORMATS:
            return listing
        paths = {file.path for file in listing.files}
        contents = {row["path"]: bytes(row["content"]) for row in found.collect() if row["path"] in paths}
    except _SPARK_ERRORS as error:
        raise _unreadable(InputFiles(address, "", []), error) from None
    return FetchedFiles(listing, contents)


def _unreadable(listing: InputFiles, error: PySparkException | Py4JJavaError) -> InputError:
    text = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)
    if "TABLE_OR_VIEW_NOT_FOUND" in text or "SCHEMA_NOT_FOUND" in text:
        hint = "Spark's SHOW TABLES lists those it knows"
        return InputError("no-table", f"Spark's catalog has no table '{listing.name}'", hint=hint)
    if "Failed to find" in text:
        jar = _JARS.get(listing.format, listing.format)
        hint = f"start Spark with its jar: spark.jars.packages={jar}:VERSION"
        return InputError("no-data-source", f"{listing.name}: this Spark has no reader of {listing.format}", hint=hint)
    reason = next(iter(text.splitlines()), type(error).__name__)
    return InputError("cannot-read", f"Spark cannot read '{listing.name}': {reason}", hint=_address_hint(listing.name))


def _address_hint(name: str) -> str:
    """How to read a kind of address; empty for a path."""
    scheme = scheme_of(name)
    if not scheme:
        return ""
    packages = f"pip install {packages_for(scheme)}"
    if scheme not in _FILE_SYSTEM_JARS:
        return f"{packages}, or start Spark with a file system for {scheme}://"
    return f"{packages}, or start Spark with its jar: spark.jars.packages={_FILE_SYSTEM_JARS[scheme]}:VERSION"
