"""Judges the output of nccl-tests: was the run whole, correct, on the right fabric, fast enough."""
