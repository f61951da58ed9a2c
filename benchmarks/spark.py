"""The workloads on Spark, as `foretell bench spark` runs them.

python benchmarks/spark.py [--json] [--cluster] [EVENTS]
"""

import sys

from foretell.bench.registry import bench

# The drivers are processes of their own, which load this file too.
if __name__ == "__main__":
    counts = [int(a) for a in sys.argv[1:] if not a.startswith("--")]
    events = counts[0] if counts else None
    bench("spark", as_json="--json" in sys.argv[1:], events=events, cluster="--cluster" in sys.argv[1:])
