"""Files on this machine, written by Spark without starting a program for each.

Spark writes files by Hadoop, and Hadoop without its native library calls `chmod` and `readlink`: some forty processes
in each micro-batch for the files of a checkpoint and their checksums. Hadoop's older interface calls only `chmod`. It
renames a file and its checksum one after the other, so there must be no checksums: a crash between the two would leave
a file that cannot be read.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

#: The setting of the interface by which Spark writes checkpoints.
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_BY_FILE_SYSTEM = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def use_plain_files(spark: SparkSession) -> None:
    """Set how queries that start from now on write checkpoints, which must be on this machine's disks. Nothing changes
    on a cluster, whose executors have files of their own, or where the session has a setting."""
    context = spark.sparkContext
    if not str(context.master).startswith("local") or spark.conf.get(MANAGER, None) is not None:
        return
    spark.conf.set(MANAGER, _BY_FILE_SYSTEM)
    files = context._jvm.org.apache.hadoop.fs.FileSystem.getLocal(context._jsc.hadoopConfiguration())  # type: ignore[union-attr]
    files.setWriteChecksum(False)
    files.setVerifyChecksum(False)
