"""Model files: a zip archive of JSON and .npy arrays that is read without running any code.

``model.json`` describes the model for people and programs, ``state.json`` contains its attributes,
``arrays/*.npy`` the arrays that these refer to, and ``SHA256SUMS`` a checksum of each file. Only
classes of a fixed list are written and read (`bagwise.persistence.encoding`).
"""

from bagwise.persistence.archive import describe, load, save
from bagwise.persistence.encoding import UnsavableError

__all__ = ["UnsavableError", "describe", "load", "save"]
