"""Hardware that failed: which, why, by what evidence, and until when."""
