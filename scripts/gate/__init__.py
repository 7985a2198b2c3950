"""The gate: proves the nodes of a wave, finds the bad ones, and opens the rest."""
