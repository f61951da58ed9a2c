"""The workloads on Spark, as `foretell bench spark` runs them: python benchmarks/spark.py [--json]"""

import sys

from foretell.app.bench import bench

bench("spark", as_json="--json" in sys.argv[1:])
