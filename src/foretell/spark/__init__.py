"""Foretell on Spark; only this package knows Spark.

- session: the Spark session, and the Java that it runs on.
- partitioning: statement groups, the hash partitioner, shuffle rows and the input of a shard, for batches and streams.
- pushdown: events that cannot matter are dropped early, by Spark's optimizer, Parquet statistics and quenching.
- batch: finite inputs, and training on them.
- streaming: streaming queries, their state and the control stream.
- sql: subscriptions as table functions.
- connectors: data sources and sinks for MQTT and webhooks.

It imports nothing here: a module that needs Spark loads it, and `explain` needs none.
"""
