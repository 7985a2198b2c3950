"""The shared file system, measured by the nodes of a wave."""
