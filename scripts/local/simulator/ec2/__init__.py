"""EC2: what moto lacks (placement groups, capacity reservations) and refuses less than AWS does."""
