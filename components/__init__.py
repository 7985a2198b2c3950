"""The layers of a training site, and the settings, names and facts that they are made from."""
