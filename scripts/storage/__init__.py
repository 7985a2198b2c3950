"""Judges the shared file system by what the nodes of a wave measured of it."""
