"""The catalog for people: looked at, drawn, and held against what EC2 says."""
