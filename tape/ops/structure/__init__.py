"""Arrays read, rearranged, joined, cut and made."""
