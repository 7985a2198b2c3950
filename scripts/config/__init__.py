"""`yard config`: stack files judged without an engine."""
