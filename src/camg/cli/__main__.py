"""``python -m camg.cli``."""

from camg.cli import main

main()
