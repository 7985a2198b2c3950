"""What the gate remembers between runs: small documents, changed by many at once."""
