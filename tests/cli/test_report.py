import html
import re
import shlex

import numpy as np
from matplotlib.image import imsave

from bagwise.persistence import describe
from command_line import NAMED, done, printed, refused


def test_held_out_bags_are_judged_by_the_model(folder, tmp_path):
    out = tmp_path / "report.html"
    found = printed("report", folder / "model.bagwise", folder / "test.csv", *NAMED, "--out", out)
    assert (found["n_bags"], found["n_folds"]) == (12, 0)
    value, low, high = found["auc"]
    assert low <= value <= high
    assert "which are taken to be new to the model" in out.read_text()
    assert f"bagwise report {folder}/model.bagwise" in out.read_text()


def test_training_bags_are_recognized_and_judged_by_folds(folder, tmp_path):
    out = tmp_path / "report.html"
    arguments = [folder / "model.bagwise", folder / "train.csv", *NAMED]
    said = done("report", *arguments, "--out", out)
    assert "trained on 30 of these 30 bags" in " ".join(said.output.split())
    assert "5-fold cross-validation" in out.read_text()
    assert len(describe(folder / "model.bagwise")["notes"]["trained_on"]) == 30 * 8
    assert "the result is too good" in " ".join(done("evaluate", *arguments).output.split())


def test_the_page_says_how_to_make_it_again(folder, tmp_path):
    out = tmp_path / "report.html"
    done("report", folder / "model.bagwise", folder / "train.csv", *NAMED, "--out", out)
    command = re.search(r"<code>(bagwise report .*?)</code>", out.read_text()).group(1)
    out.unlink()
    done(*shlex.split(html.unescape(command))[1:])
    assert out.exists()


def test_pictures_of_instances(folder, tmp_path):
    for i in range(12):
        for k in range(60):
            imsave(tmp_path / f"s{i}-{k}.png", np.zeros((4, 4)))
    out = tmp_path / "report.html"
    arguments = [folder / "model.bagwise", folder / "test.csv", *NAMED, "--images", tmp_path]
    done("report", *arguments, "--out", out)
    assert "data:image/webp" in out.read_text()
    (tmp_path / "s0-0.png").unlink()
    refused(1, "no picture of instance 's0-0'", "report", *arguments, "--out", out, "--force")
