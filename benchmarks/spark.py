"""The workloads on Spark, as `foretell bench spark` runs them: python benchmarks/spark.py [--json]"""

import sys

from foretell.bench.registry import bench

bench("spark", as_json="--json" in sys.argv[1:])
