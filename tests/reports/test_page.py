import base64
import json
import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedWitnessSVC, MeanSVC, PerInstance, WitnessSVC, report
from bagwise.datasets import load_digits_bags, make_slide_bags


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(n_bags=60)


def rows_of(page):
    return json.loads(re.search(r'id="rows">(.*?)</script>', page.html, re.DOTALL).group(1))["rows"]


def test_rows_are_what_the_model_says(digits):
    bags, y = digits
    model = WitnessSVC(kernel="linear").fit(bags[:30], y[:30])
    rows = rows_of(report(model, bags[30:], y[30:]))
    assert [row["score"] for row in rows] == pytest.approx(
        model.decision_function(bags[30:]), rel=1e-3
    )
    keys = bags[30:].flat(model.key_instances(bags[30:]))
    assert [row["key"] for row in rows] == [str(i) for i in bags[30:].instance_ids[keys]]
    assert rows[0]["why"].count(", ") == 4
    late = WitnessSVC(kernel="linear", threshold=5.0).fit(bags[:30], y[:30])
    shown = [report(each, bags[30:], y[30:]).html for each in (model, late)]
    assert ["ranks bags well and decides badly" in html for html in shown] == [False, True]


def test_it_is_self_contained_and_names_its_origin(digits):
    bags, y = digits
    model = WitnessSVC().fit(bags, y)
    page = report(model, bags, y, cv=3, command="bagwise report m d", data_name="digits")
    html, said = page.html, model.explain(bags, n_features=5)
    named = said.loc[said.groupby("bag")["score"].idxmax(), "features"].tolist()
    assert [row["why"] for row in rows_of(page)] == named
    assert "3-fold cross-validation" in html
    assert "bagwise report m d" in html
    assert not re.search(r"(src|href)=\"https?:", html)
    assert "default-src 'none'" in html


def test_pipelines_slides_and_annealing():
    bags, y = make_slide_bags(n_bags=24, bag_size=(20, 60), n_features=8, witness_rate=0.2)
    model = make_pipeline(PerInstance(StandardScaler()), AnnealedWitnessSVC(kernel="linear"))
    page = report(model.fit(bags, y), bags, y, cv=3)
    assert all(row["map"].startswith("data:image/png") for row in rows_of(page))
    assert "Course of the training" in page.html
    assert "steps before it</th><td>PerInstance(" in page.html.replace("\n", "")


def test_a_thousand_bags_with_thumbnails_stay_below_five_megabytes():
    rng = np.random.default_rng(0)
    bags, y = load_digits_bags(n_bags=1000)
    model = WitnessSVC(kernel="linear").fit(bags[:60], y[:60])
    images = rng.integers(0, 255, size=(64, 32, 32, 3)).astype(np.uint8)
    page = report(model, bags, y, images=lambda row: images[row % 64])
    assert len(page.html.encode()) < 5e6
    few = rows_of(report(model, bags[:100], y[:100], images=lambda row: images[row % 64]))
    picture = base64.b64decode(few[0]["top"][0]["image"].partition(",")[2])
    assert Image.open(BytesIO(picture)).size == (48, 48)


def test_it_says_what_it_is_doing_and_notebooks_show_it(digits):
    bags, y = digits
    heard = []
    model = MeanSVC().fit(bags, y)
    page = report(model, bags, y, cv=3, callback=lambda *said: heard.append(said))
    assert page._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(ValueError, match="one class"):
        report(model, bags[y == 1], y[y == 1])
    assert [said for said in heard if said[0] == "Fitting folds"] == [
        ("Fitting folds", i, 3) for i in range(3)
    ]
    assert ("Drawing bags", 59, 60) in heard


def test_calibrated_models_show_p_values_and_discoveries():
    bags, y = make_slide_bags(n_bags=60, bag_size=(20, 60), n_features=8, witness_rate=0.2)
    model = AnnealedWitnessSVC(kernel="linear").fit(bags[:40], y[:40])
    model.calibrate_instances(bags[:40], y[:40])
    new, truth = bags[40:], y[40:]
    page, p = report(model, new, truth), model.instance_pvalues(new)
    rows, found = rows_of(page), model.discover(new)
    counts = np.add.reduceat(found, new.offsets[:-1]).tolist()
    assert [row["discoveries"] for row in rows] == counts
    smallest = np.minimum.reduceat(p, new.offsets[:-1])
    assert [row["top"][0]["p"] for row in rows] == pytest.approx(smallest, rel=1e-3)
    assert "approximate: about one negative bag in ten has any discovery" in page.html
    sizes = [Image.open(BytesIO(base64.b64decode(r["map"].split(",")[1]))).size for r in rows]
    wide = [
        np.ptp(new.coords[new.offsets[i] : new.offsets[i + 1], 0]) // 256 + 1 for i in range(20)
    ]
    assert [size[0] for size in sizes] == [
        4 * w + 2 if n else w for w, n in zip(wide, counts, strict=True)
    ]
