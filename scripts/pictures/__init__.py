"""Pictures of measurements as self-contained SVG."""
