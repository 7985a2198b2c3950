"""What equal runs reached before, and whether a new one is slower."""
