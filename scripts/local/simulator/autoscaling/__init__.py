"""EC2 Auto Scaling: the groups behind managed node groups, and what scales them by the clock."""
