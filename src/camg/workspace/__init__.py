"""The files of an episode: snapshots of the memory, checkpoints, ``shell_command``, limits."""
