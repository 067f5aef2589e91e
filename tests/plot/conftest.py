"""What the figures of fitted models are drawn from."""

import pytest

from bagwise import WitnessSVC
from bagwise.datasets import load_digits_bags


@pytest.fixture(scope="package")
def fitted():
    bags, y = load_digits_bags(n_bags=70)
    return WitnessSVC(kernel="linear").fit(bags, y), bags, y
