"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from typing import Any

import lazy_loader

from bagwise._removed import refuse_class

__version__ = "0.3.0"

# The public names are the imports of __init__.pyi; each is loaded when it is first asked for.
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name, or say what replaces a removed one."""
    try:
        return _load(name)
    except AttributeError:
        refuse_class(name)
        raise
