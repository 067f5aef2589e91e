"""Code of a user, for mypy: the types of bagwise are seen from outside."""

from typing import assert_type

import bagwise
from bagwise import Bags, WitnessSVC

bags: Bags = Bags.from_list([[[0.0], [3.0]], [[0.1]]])
assert_type(bags.n_instances, int)
assert_type(bagwise.__version__, str)
model = WitnessSVC(kernel="linear", C=1.0)
print(model.fit(bags, [1, 0]).predict(bags))
