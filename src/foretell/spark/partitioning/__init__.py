"""How statements and events are divided over Spark's tasks, in batches and in streams alike.

    map side:     events ─▶ StatementGroup.partition ─▶ ShuffleWriter ─▶ shuffle rows
    reduce side:  shuffle rows ─▶ ShardInput ─▶ MatchRuntime ─▶ result batches

Batches and streams share the groups, the hash partitioner, the format of shuffle rows and the decoded input of a shard;
in both a MatchRuntime turns that input into result batches. Three things differ, each for a reason:

- Order: a batch gives notifications in the order of the whole run, so its events carry their arrival numbers through
  the shuffle and its notifications leave with sort keys. A stream has no order across its shards.
- Time: a batch has all events and sorts them (externally, where memory is short). A stream waits for late ones, so it
  drives the runtime through an Engine, which has the reorder buffer.
- State: a stream's Engine is restored from and written to Spark's state, under the id of its shard. Ids and partition
  keys therefore stay as they are while statements come and go. A batch has no state and divides statements further.
"""
