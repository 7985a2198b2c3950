"""What a person or a Command resource runs: the `yard` command and the packages behind it."""
