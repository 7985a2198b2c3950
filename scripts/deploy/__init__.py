"""``yard up``, ``yard preview`` and ``yard down``: the engine, always with the policy pack."""
