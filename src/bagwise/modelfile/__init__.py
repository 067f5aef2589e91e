"""Model files: a zip of JSON and .npy arrays that is read without running any code.

``model.json`` describes the model for people and programs, ``state.json`` is the tree of its
attributes, ``arrays/*.npy`` are the arrays that the tree names, and ``SHA256SUMS`` holds a checksum
of each. Only classes of a fixed list are written and read (`bagwise.modelfile.allowed`).
"""

from bagwise.modelfile.archive import describe, load, save
from bagwise.modelfile.tree import UnsavableError

__all__ = ["UnsavableError", "describe", "load", "save"]
