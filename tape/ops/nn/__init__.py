"""Neural networks: what they are made of, as functions. The names and the order of axes are PyTorch's."""

__all__: list[str] = []
