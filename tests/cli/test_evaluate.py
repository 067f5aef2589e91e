"""bagwise evaluate: the metrics and the confusion matrix of a model on labeled bags."""

from __future__ import annotations

import numpy as np
import pytest

import bagwise
from command_line import done, printed, read_slides, refused


def test_evaluate_counts_right_and_wrong(folder):
    record = printed("evaluate", folder / "model.bagwise", folder / "test.csv")
    bags, y = read_slides(folder / "test.csv")
    predicted = bagwise.load(folder / "model.bagwise").predict(bags)
    assert record["accuracy"] == np.mean(predicted == y)
    assert record["n_bags"] == 12
    wrong = int(np.sum((y == "tumor") & (predicted == "normal")))
    assert record["confusion"]["tumor"]["normal"] == wrong
    assert sum(count for row in record["confusion"].values() for count in row.values()) == 12
    shown = done("evaluate", folder / "model.bagwise", folder / "test.csv").stdout
    assert f"{record['accuracy']:.4f}" in shown
    assert "true \\ predicted" in shown


def test_evaluate_judges_key_instances_where_the_truth_is_known(folder, tmp_path):
    head, *rows = (folder / "test.csv").read_text().splitlines()
    truth = [head + ",instance_label"]
    truth += [f"{row},{int(i % 3 == 0)}" for i, row in enumerate(rows)]
    (tmp_path / "truth.csv").write_text("\n".join(truth))
    record = printed("evaluate", folder / "model.bagwise", tmp_path / "truth.csv")
    assert {"key_instance_rate", "instance_auc"} <= record.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slide,f0,f1\ns1,0,1\n", "name their column with --label"),
        ("slide,diagnosis,f0,f1\ns1,cyst,0,1\n", "has the label cyst; the model knows"),
        ("slide,diagnosis,f0,f1\ns1,tumor,0,1\n", "an evaluation needs both classes"),
    ],
)
def test_evaluate_refuses_labels_that_do_not_fit(folder, tmp_path, text, message):
    (tmp_path / "odd.csv").write_text(text)
    refused(1, message, "evaluate", folder / "model.bagwise", tmp_path / "odd.csv")
