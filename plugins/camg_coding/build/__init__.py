"""From a Python project to repair tasks: fetch it, make it run, run its tests, plant bugs, keep what is provable."""
