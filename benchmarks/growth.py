"""How times grow, as `foretell bench growth` measures it: python benchmarks/growth.py [--json] [--quick] [DIR]"""

import sys
from pathlib import Path

from foretell.bench.registry import bench

# Some points are measured in processes of their own, which load this file too.
if __name__ == "__main__":
    folders = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
    output = folders[0] if folders else None
    bench("growth", as_json="--json" in sys.argv[1:], quick="--quick" in sys.argv[1:], output=output)
