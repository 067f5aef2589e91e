"""bagwise explain: the instances with the highest scores, and the features behind them."""

from __future__ import annotations

import pytest

import bagwise
from command_line import done, printed, read_slides, refused


@pytest.fixture
def command(folder):
    return ["explain", folder / "model.bagwise", folder / "new.csv"]


@pytest.fixture
def expected(folder):
    """Return the bags to explain and the model, as Python reads them."""
    bags, _ = read_slides(folder / "new.csv", label=None)
    return bags, bagwise.load(folder / "model.bagwise")


def test_explain_shows_the_best_instances_of_positive_bags(command, expected):
    rows, (bags, model) = printed(*command, "--top", "2"), expected
    positive = bags.ids[model.predict(bags) == "tumor"].tolist()
    assert list(dict.fromkeys(row["bag"] for row in rows)) == positive
    keys = bags.instance_ids[bags.flat(model.key_instances(bags))]
    key_of = dict(zip(bags.ids, keys, strict=True))
    scores = dict(zip(bags.instance_ids, model.instance_decision_function(bags), strict=True))
    for row in rows:
        assert row["rank"] <= 2
        assert row["score"] == scores[row["instance"]]
        if row["rank"] == 1:
            assert row["instance"] == key_of[row["bag"]]


def test_explain_names_the_features_of_a_linear_model(command, expected):
    rows, (bags, model) = printed(*command, "--top", "1"), expected
    place = {name: i for i, name in enumerate(bags.instance_ids)}
    assert rows
    for row in rows:
        shares = model.coef_[0] * bags.X[place[row["instance"]]]
        name, share = row["because"].split(", ")[0].split(" ")
        assert name == f"f{shares.argmax()}"
        assert float(share) == pytest.approx(shares.max(), rel=1e-2)


def test_explain_only_some_bags_or_all_of_them(command):
    assert {row["bag"] for row in printed(*command, "--only", "s3")} == {"s3"}
    assert {row["bag"] for row in printed(*command, "--all")} == {f"s{i}" for i in range(12)}
    assert "because" in done(*command).stdout


def test_no_positive_bag_is_said(folder, tmp_path):
    (tmp_path / "empty.csv").write_text("slide,f0,f1\ns1,-99,-99\n")
    command = ["explain", folder / "model.bagwise", tmp_path / "empty.csv"]
    result = done(*command, "--json")
    assert result.stdout.strip() == "[]"
    assert "No bag is predicted positive; --all explains the others too." in result.stderr
    assert len(printed(*command, "--all")) == 1


def test_explain_refuses_bad_arguments(command):
    refused(1, "There is no bag 's99'. Did you mean 's9'?", *command, "--only", "s99")
    refused(2, "--top", *command, "--top", "0")
