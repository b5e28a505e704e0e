"""The names of other libraries for programs written for these: `autograd`, that of the HIPS group.

A package here holds names, signatures and conventions. Whatever it computes, the rest of tape does.
"""
