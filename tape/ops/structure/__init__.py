"""Reading, rearranging, joining, cutting and making arrays."""
