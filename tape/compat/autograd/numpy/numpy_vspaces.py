"""Vector spaces of autograd, which do not exist here."""

from tape.compat.autograd._internals import refusing

__getattr__ = refusing(__name__)
