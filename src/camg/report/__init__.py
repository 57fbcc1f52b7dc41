"""What came out of runs: tables, figures, replays (``camg report``, ``camg replay``)."""
