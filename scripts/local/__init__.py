"""The embedded target: everything that Trainyard needs, on one machine."""
