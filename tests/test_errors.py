"""Messages keep their arguments wherever an exception carries them."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bagwise.errors import SCALE, Argument, Message, Parameter, list_names, message_of, suggestion
from bagwise.io import FormatError

MESSAGE = Message("Pass ", Argument("bag"), " or ", Parameter("kernel", "'linear'"), " of {C}.")


def flag(argument):
    return f"--{argument.name}"


def test_a_message_is_a_text_for_python():
    assert MESSAGE == "Pass bag=... or kernel='linear' of {C}."
    assert MESSAGE.reword(flag) == "Pass --bag or --kernel of {C}."


@pytest.mark.parametrize(
    "kind", [ValueError, MemoryError, FloatingPointError, np.linalg.LinAlgError, FileExistsError]
)
def test_every_kind_of_error_carries_it(kind):
    error = pickle.loads(pickle.dumps(kind(MESSAGE)))
    assert message_of(error).reword(flag) == MESSAGE.reword(flag)
    with pytest.raises(kind, match=r"Pass bag=\.\.\. or kernel='linear'"):
        raise error


def test_a_warning_carries_it_and_keeps_its_category():
    with pytest.warns(ConvergenceWarning, match="Pass bag") as caught:
        warnings.warn(MESSAGE, ConvergenceWarning, stacklevel=1)
    assert message_of(caught[0].message).reword(flag) == MESSAGE.reword(flag)


def test_a_message_within_a_message_is_worded_too():
    error = FormatError("a.csv", MESSAGE, 3, "x")
    assert str(error) == f"a.csv, line 3, column 'x': {MESSAGE}"
    assert message_of(error).reword(flag) == f"a.csv, line 3, column 'x': {MESSAGE.reword(flag)}"
    assert copy.deepcopy(error).problem.parts == MESSAGE.parts


def test_a_step_is_written_as_code():
    assert str(SCALE) == "PerInstance(StandardScaler()) in a pipeline"


def test_lists_are_cut_and_typos_recognized():
    assert list_names("ab") == "a, b"
    assert list_names(map(str, range(20))).endswith("13, 14, ... (20 in all)")
    assert suggestion("mi-svn", ["mi-SVM", "MI-SVM", "SIL"]) == "Did you mean 'mi-SVM' or 'MI-SVM'?"
    assert suggestion("iris", ["musk1", "fox"]) == "Known names: musk1, fox."
