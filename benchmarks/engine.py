"""The engine's workloads, as `foretell bench engine` runs them: python benchmarks/engine.py [--json]"""

import sys

from foretell.bench.registry import bench

bench("engine", as_json="--json" in sys.argv[1:])
