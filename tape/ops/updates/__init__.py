"""Arrays with some elements written: ``x.at``, ``ufunc.at``, and what NumPy's in-place functions leave."""
