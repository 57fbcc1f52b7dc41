"""From a Python project to repair tasks: fetch it, make it runnable, run its suite, plant bugs, keep what is provable."""
