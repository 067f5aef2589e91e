"""Bad arguments: the status, what was typed, and what it must say. More are on docs/mistakes.md."""

import shlex

import pytest

from command_line import COLUMNS, NAMED, refused

REFUSALS = r"""
2 compare --metric acuracy => there is no metric 'acuracy'. Did you mean 'accuracy'?
2 compare --folds 0 => --folds
2 compare --time soon => --time soon: write it as in 90s, 5m or 1h30m
2 compare --models , => give at least one name
1 compare --label x => has no column 'x'
1 compare --folds 40 => Lower --folds to
2 cv -p negatives=bags => no parameter 'negatives'
2 cv -j 0 => --jobs must be at least 1, or -1
1 cv --folds 1000000000000 => fewer than the 1000000000000 folds of --folds
1 cv --folds 19 => the 19 folds of --folds. Lower --folds to
1 cv --bag x => has no column 'x'
2 cv --positive x => the labels are
2 cv -p C=none => The 'C' parameter
2 cv -p 'C=[1,2]' => A list of candidates needs `bagwise fit --cv`
2 fit -m EM-DD --cv => EMDD has no usual candidates
1 fit --label grade => has no column 'grade'. Known names: diagnosis, slide, patient
2 fit -p 'C=[1,2' --cv => not a complete list or dict
2 fit -p 'C=[1,x]' --cv => not a complete list or dict
2 fit -p 'class_weight={tumor: 2}' => not a complete list or dict
2 fit -p 'C=[]' --cv => give at least one candidate
2 fit -p 'C=[1,-2]' --cv => The 'C' parameter
2 fit -p C=1 -p C=2 => --param C is given twice
2 fit -p C=10 --cv => nothing is left to choose beside C
2 fit -p 'calibration_cv=[1,2]' => --param calibration_cv: give the number of folds
2 fit -p n_jobs=0 => --param n_jobs must be at least 1
2 fit --cv -j 0 => --jobs must be at least 1, or -1
2 demo --seed -1 => --seed
2 demo --slides => demo --slides was removed in version 0.3. The demo shows digits
2 demo digits => digits
2 explain --top 0 => --top
2 predict -o no/such/out.csv => there is no folder no/such
1 predict --bag slice => has no column 'slice'
2 bench gehler2008 --out x => there is no preset 'gehler2008'.
2 bench avolio2012 --out x => Did you mean 'avolio2021'?
2 bench my.yaml --out x => own benchmarks were removed. Use `bagwise compare`
2 bench avolio2021 => --out
2 bench avolio2021 --out x --jobs 0 => at least 1
2 bench avolio2021 --out x --jobs -2 => --jobs
2 bench x --dask=local => bench --dask was removed in version 0.3. Use --jobs
2 bench avolio2021 --quick => bench --quick was removed in version 0.3. Leave it out
1 table no/such/folder => holds no results
2 table . --metric acuracy => no metric 'acuracy'. Did you mean 'accuracy'?
2 cv -p C=1{zeros} => The 'C' parameter of WitnessSVC is an integer of 401
2 cv -p 'class_weight={[]:1}' => --param class_weight={[]:1} is not a complete
2 cv -p n_jobs=4000 => --param n_jobs 4000 is too many
2 cv --jobs 100000000000 => --jobs 100000000000 is too many: this computer
2 report --images nowhere => there is no such folder
"""


@pytest.fixture
def read(folder, cells, tmp_path):
    """What each command is given before the mistake."""
    model = [folder / "model.bagwise", folder / "new.csv"]
    return {
        "compare": [cells],
        "cv": [cells, "-m", "MI-SVM"],
        "fit": [folder / "train.csv", *COLUMNS, "-m", "MI-SVM", "-o", tmp_path / "m.bagwise"],
        "demo": [],
        "bench": [],
        "table": [],
        "explain": model,
        "predict": model,
        "report": [model[0], folder / "test.csv", *NAMED],
    }


@pytest.mark.parametrize("line", REFUSALS.strip().splitlines())
def test_bad_arguments_are_refused(read, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed, _, message = line.replace("{zeros}", "0" * 400).partition(" => ")
    status, command, *mistake = shlex.split(typed)
    refused(int(status), message, command, *read[command], *mistake)
    assert list(tmp_path.iterdir()) == []
