"""Judges one node by what its capture script printed."""
