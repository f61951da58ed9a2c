"""P-ToPSS, section 6, as `foretell bench forecast` runs it: python benchmarks/forecast.py [--json] [--quick] [DIR]"""

import sys
from pathlib import Path

from foretell.bench.registry import bench

folders = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
output = folders[0] if folders else None
bench("forecast", as_json="--json" in sys.argv[1:], quick="--quick" in sys.argv[1:], output=output)
