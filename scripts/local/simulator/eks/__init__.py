"""EKS: clusters and all that belongs to them; every record is in the shape that EKS describes."""
