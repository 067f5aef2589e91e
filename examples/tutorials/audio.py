# %% [markdown]
# # Audio: when does the bird sing?
#
# A recording of ten seconds is labeled "contains a wren". When it sings is not noted. A recording is a bag of short segments, and the
# model learns the species and the moment at once.
#
# The recordings are synthesized: wind, crickets and a falling whistle of another bird in all of them, and a rising trill in half.

# %%
import numpy as np

rng = np.random.default_rng(0)
RATE, SECONDS = 8000, 10  # samples per second, length of a recording


def sweep(length, start, end):
    """Return a tone that moves from one frequency to another."""
    t = np.arange(int(length * RATE)) / RATE
    cycles = start * t + (end - start) * t**2 / (2 * length)
    return np.sin(2 * np.pi * cycles) * np.hanning(len(t))


def record(wren):
    """Return a recording, and the time at which the wren sings (or None)."""
    crickets = np.sin(2 * np.pi * 3400 * np.arange(RATE * SECONDS) / RATE)
    sound = rng.normal(scale=0.5, size=RATE * SECONDS) + 0.02 * crickets
    for _ in range(3):
        add(sound, sweep(0.5, 2500, 1200), rng.uniform(0, SECONDS - 1))
    time = rng.uniform(0, SECONDS - 1) if wren else None
    if wren:
        for k in range(4):
            add(sound, sweep(0.12, 1500, 3000), time + 0.15 * k)
    return sound, time


def add(sound, tone, time):
    """Add a tone at a time."""
    at = int(time * RATE)
    sound[at : at + len(tone)] += 2.0 * tone


y = np.arange(80) % 2
recordings, times = zip(*(record(wren) for wren in y), strict=True)
print(len(recordings), "recordings,", y.sum(), "with a wren")

# %% [markdown]
# Instances are segments of half a second, every quarter of a second. Features are the highest energy in each of 24 bands of frequency,
# how much it changes, and whether a band is loud just after the one below it, as in a rising tone.

# %%
from scipy.signal import spectrogram

from bagwise import Bags

STEP = 0.25


def segments(sound):
    """Return one row per segment: log energies of bands, and how they change."""
    _, times, power = spectrogram(sound, RATE, nperseg=256, noverlap=128)
    bands = np.log(power[1:121].reshape(24, 5, -1).mean(1) + 1e-9)
    change = np.diff(bands, axis=1, prepend=bands[:, :1])
    joint = bands[1:] * np.roll(bands, 2, axis=1)[:-1]  # energy here now, one band lower before
    starts = np.arange(0, SECONDS - 0.5, STEP)
    parts = [(times >= s) & (times < s + 0.5) for s in starts]
    rows = [(bands[:, p].max(1), change[:, p].std(1), joint[:, p].min(1)) for p in parts]
    return np.array([np.concatenate(row) for row in rows])


bags = Bags.from_list([segments(sound) for sound in recordings])
print(bags)

# %%
from sklearn.preprocessing import StandardScaler

from bagwise import PerInstance, WitnessSVC, make_pipeline
from bagwise.metrics import roc_auc_score

train, test = slice(0, 50), slice(50, 80)
model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(kernel="linear", C=0.1))
model.fit(bags[train], y[train])
print(
    f"AUC on 30 new recordings: {roc_auc_score(y[test], model.decision_function(bags[test])):.2f}"
)

# %% [markdown]
# And the moment? The key segment should begin within half a second of the song.

# %%
sung = [i for i in range(50, 80) if y[i]]
key = model.key_instances(bags[sung])
near = [abs(k * STEP - times[i]) <= 0.6 for k, i in zip(key, sung, strict=True)]
print(f"the song was located in {sum(near)} of {len(near)} recordings")

# %% alt="Above, the spectrogram of a recording with a rising trill. Below, scores of segments, highest at the trill."
import matplotlib.pyplot as plt

i = sung[1]
scores = model.instance_decision_function(bags[[i]])
figure, (top, low) = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
top.specgram(recordings[i], NFFT=256, Fs=RATE, noverlap=128, cmap="Greys")
top.set(ylabel="frequency (Hz)", title="A recording, and what the model hears")
low.step(np.arange(len(scores)) * STEP, scores, where="post", color="#c8470a")
low.axhline(0, color="#8a8a8a", lw=0.8)
for ax in (top, low):
    ax.axvspan(times[i], times[i] + 0.6, color="#00695c", alpha=0.2, lw=0)
low.set(xlabel="time (s); green: the wren sings", ylabel="score", xlim=(0, SECONDS))
plt.close(figure)
figure
