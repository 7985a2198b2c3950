"""Route 53: zones are moto's, and what is in them is kept and judged here."""
