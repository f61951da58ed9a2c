"""The live page of a running pipeline: a service that runs it, an API of what it does, and a page that shows it.

A pipeline runs in a thread of its own (`runner`) and tells a `recorder` what happens; the service reads the recorder,
so no client can slow the pipeline down. `embedded_pipeline` runs the engine in this process, `spark_pipeline` a query
of Spark. `routes` and `event_stream` are the API, described in API.md; `access` decides who may use it.
"""
