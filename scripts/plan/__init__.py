"""`yard plan`: what a site needs, on paper."""
