"""Puts the tests' own tiny networks on the path (the test tree is no package)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
