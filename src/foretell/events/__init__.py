"""Events: types, schema and order, notifications, ingest, and the reorder buffer.

`ingest.reader.read` takes any source and returns an `EventBatch`: one typed Arrow table, and the quarantined events.
"""
