"""``python run_corridor.py CELL_DIR RESUME``: run the cell's own config in processes; exit as the command line does."""

from __future__ import annotations

import sys
from pathlib import Path

from camg.config import load_cell
from camg.errors import CamgError
from camg.supervise import run_cell


def main() -> int:
    cell = Path(sys.argv[1])
    config, registry = load_cell(cell)
    try:
        run_cell(cell, config, registry, resume=sys.argv[2] == "resume")
    except CamgError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
