"""AutoGluon on statistics of bags, with its presets and the budget as its time limit."""

import tempfile
import time

import pandas as pd
from extratrees import describe

time.time = time.monotonic = time.process_time  # its limit is to be CPU time, as for all others

from autogluon.tabular import TabularPredictor  # noqa: E402

PACKAGES = ("autogluon.tabular", "scikit-learn")
RANDOM = set()


def frame_of(bags):
    """Return the statistics as a table."""
    return pd.DataFrame(describe(bags)).rename(columns=str)


def fit(bags, y, seed, budget):
    """Fit the default stack within the budget, on one core."""
    table = frame_of(bags).assign(label=y)
    predictor = TabularPredictor(
        "label", path=tempfile.mkdtemp(), verbosity=0, eval_metric="roc_auc"
    )
    predictor.fit(table, time_limit=budget, num_cpus=1, num_gpus=0)

    def predict(new):
        frame = frame_of(new)
        chance = predictor.predict_proba(frame)[1].to_numpy()
        return {
            "score": chance,
            "probability": chance,
            "label": predictor.predict(frame).to_numpy(),
        }

    return predict


SYSTEMS = {"AutoGluon on statistics": fit}
