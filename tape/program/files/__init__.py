"""Programs in files: `archive` writes and reads them, `structures` the trees of their arguments."""
