"""Updates of some elements: ``x.at``, ``ufunc.at``, and functional forms of NumPy's in-place functions."""
