"""What runs in the pods of a gate: scripts of the shell, and a training that stands alone."""
