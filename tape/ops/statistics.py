"""Means, medians, quantiles, covariances, and counts."""

__all__: list[str] = []
