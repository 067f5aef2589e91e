"""Bad arguments of commands that read data: the status, what was typed, and what it must say."""

from __future__ import annotations

import shlex

import pytest

from command_line import COLUMNS, refused

REFUSALS = r"""
2 compare --metric acuracy => there is no metric 'acuracy'. Did you mean 'accuracy'?
2 compare --models MI-SVM,MISVM => There is no method 'MISVM'
2 compare --folds 0 => --folds
2 compare --time soon => --time soon: write it as in 90s, 5m or 1h30m
2 compare --models , => give at least one name
1 compare --label x => has no column 'x'
1 compare --folds 40 => Lower --folds to
2 cv -m MISVM => There is no method 'MISVM'
2 cv -p negatives=bags => no parameter 'negatives'
2 cv --folds 1 => --folds
2 cv -j 0 => --jobs must be at least 1, or -1
1 cv --folds 1000000000000 => fewer than the 1000000000000 folds of --folds
1 cv --folds 19 => the 19 folds of --folds. Lower --folds to
1 cv --bag x => has no column 'x'
2 cv --positive x => the labels are
2 cv -p C=none => The 'C' parameter
2 cv -p 'C=[1,2]' => A list of candidates needs `bagwise fit --cv`
2 fit -m MI-SVN => There is no method 'MI-SVN'. Did you mean
2 fit -p gama=1 => has no parameter 'gama'. Did you mean 'gamma'?
2 fit -m EM-DD --cv => EMDD has no usual candidates
2 fit -p C => write NAME=VALUE
2 fit --positive cancer => the labels are normal, tumor
2 fit -o no/such/folder/m.bagwise => there is no folder
2 fit --format parket => there is no format 'parket'. Did you mean 'parquet'?
1 fit --bag slice => has no column 'slice'. Did you mean 'slide'?
1 fit --label grade => has no column 'grade'. Known names: diagnosis, slide, patient
2 fit -p C=-1 => The 'C' parameter
2 fit -p 'C=[1,2' --cv => not a complete list or dict
2 fit -p 'C=[1,x]' --cv => not a complete list or dict
2 fit -p 'class_weight={tumor: 2}' => not a complete list or dict
2 fit -p 'C=[]' --cv => give at least one candidate
2 fit -p 'C=[1,2]' => A list of candidates needs `bagwise fit --cv`
2 fit -p 'C=[1,-2]' --cv => The 'C' parameter
2 fit -p C=1 -p C=2 => --param C is given twice
2 fit -p C=10 --cv => nothing is left to choose beside C
2 fit -p 'calibration_cv=[1,2]' => --param calibration_cv: give the number of folds
2 fit -p n_jobs=0 => --param n_jobs must be at least 1
2 fit --cv -j 0 => --jobs must be at least 1, or -1
2 fit --kernel rbf => No such option
2 predict -o out.xls => must end in .csv, .tsv, .json, .parquet
2 predict -o no/such/out.csv => there is no folder no/such
1 predict --bag slice => has no column 'slice'
2 predict --model MI-SVM => No such option
"""


@pytest.fixture
def read(folder, cells, tmp_path):
    """What each command is given before the mistake."""
    return {
        "compare": [cells],
        "cv": [cells, "-m", "MI-SVM"],
        "fit": [folder / "train.csv", *COLUMNS, "-m", "MI-SVM", "-o", tmp_path / "m.bagwise"],
        "predict": [folder / "model.bagwise", folder / "new.csv"],
    }


@pytest.mark.parametrize("line", REFUSALS.strip().splitlines())
def test_bad_arguments_are_refused(read, line, tmp_path):
    typed, _, message = line.partition(" => ")
    status, command, *mistake = shlex.split(typed)
    refused(int(status), message, command, *read[command], *mistake)
    assert list(tmp_path.iterdir()) == []
