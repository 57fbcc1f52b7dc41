"""The embedded policy: its artefact, and the warm start that makes it (``camg pocket build``)."""
