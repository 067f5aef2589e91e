"""PyTorch for tests: present, or a reason to skip them."""

from __future__ import annotations

import importlib.util
import os

import pytest

MISSING = importlib.util.find_spec("torch") is None
needs_torch = pytest.mark.skipif(
    MISSING and not os.environ.get("BAGWISE_REQUIRE_TORCH"),
    reason="PyTorch is not installed (BAGWISE_REQUIRE_TORCH=1 makes this an error)",
)
