"""One update: episodes -> samples -> values -> advantages -> losses -> step.

Read :mod:`camg.learn.learner` first; it recites the update top to bottom. Estimators receive and return the plain
records :class:`camg.types.Trajectory` and :class:`camg.types.Estimate`.
"""
