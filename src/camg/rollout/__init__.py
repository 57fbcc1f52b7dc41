"""Many episodes: the schedule, the durable queue, and the worker processes that fill it (paper B.3)."""
