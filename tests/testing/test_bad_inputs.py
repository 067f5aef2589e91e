"""The battery of bad inputs: every door refuses them as the table says, and the table can fail."""

from dataclasses import replace

import pytest

from bad_inputs import bad_inputs, check_bad_input
from bad_inputs.files import FORMS, make_form
from bagwise import InstanceSVC, io
from bagwise.io.dispatch import READERS, recognize
from bagwise.testing._problems import planted_bags

pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
pytest.importorskip("openpyxl")
pytest.importorskip("anndata")

APART = [case for door in ("data", "file") for case in bad_inputs(door)]


# Those of estimators run over all listed ones in test_runner.py.
@pytest.mark.parametrize("case", APART, ids=lambda case: f"{case.door}-{case.name}")
def test_bad_input_is_refused(case):
    check_bad_input(case)


def test_every_format_and_model_files_are_damaged(tmp_path):
    for name in FORMS:
        bags = io.read(make_form(name, tmp_path)) if name != "m.bagwise" else None
        assert bags is None or len(bags[0]) == 2
    formats = {recognize(tmp_path / name) for name in FORMS if name != "m.bagwise"}
    assert formats == READERS.keys() - {"molecules"}  # tables with a column of SMILES
    assert all(any(name in case.name for case in bad_inputs("file")) for name in FORMS)


# A check that cannot fail is worth nothing -------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": ("bag 77",)}, "bag 77"),
        ({"error": TypeError}, "TypeError"),
        ({"run": lambda estimator: estimator}, "no error was raised"),
    ],
)
def test_a_wrong_refusal_is_found_out(change, said):
    case = next(bad_inputs("estimator"))
    check_bad_input(case, InstanceSVC())
    with pytest.raises(AssertionError, match=said):
        check_bad_input(replace(case, **change), InstanceSVC())


class TakesAnything(InstanceSVC):
    def _validate_bags(self, bags, reset):
        try:
            return super()._validate_bags(bags, reset)
        except ValueError:
            return super()._validate_bags(planted_bags()[0], reset)


@pytest.mark.parametrize("name", ["empty_bag", "not_finite", "width_at_predict"])
def test_an_estimator_that_takes_anything_is_found_out(name):
    case = next(case for case in bad_inputs("estimator") if case.name == name)
    with pytest.raises(AssertionError, match=name):
        check_bad_input(case, TakesAnything())
