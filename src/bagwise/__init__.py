"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

import lazy_loader

__version__ = "0.2.0"

# The public names are the imports of __init__.pyi; each is loaded when it is first asked for.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
