"""Programs in files."""
