"""Molecules as bags of their shapes: from SMILES to conformers and their 3-D descriptors.

A molecule bends, and the label belongs to the molecule, not to one of its shapes: its conformers
are the instances of a bag. Conformers are embedded by ETKDGv3 from a fixed seed; one whose heavy
atoms are within half an angstrom (RMS) of an earlier one is left out. Descriptors of a conformer
are those of RDKit that depend on the shape: moments of inertia, 3-D autocorrelations, radial
distribution functions, MoRSE, WHIM and USRCAT. They are kept in the cache folder
(``BAGWISE_CACHE``) by molecule, so that the next reading takes no time.

Reference: S. Wang, J. Witek, G. Landrum & S. Riniker, "Improving conformer generation for small
rings and macrocycles based on distance geometry and experimental torsional-angle preferences",
Journal of Chemical Information and Modeling 2020.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.errors import suggestion
from bagwise.io._columns import LabeledBags, reads
from bagwise.io._files import cache_folder, require, writing
from bagwise.io.errors import FormatError

_APART = 0.5  # angstroms: conformers that are closer bind alike
_SHAPES = ["PMI1", "PMI2", "PMI3", "NPR1", "NPR2", "RadiusOfGyration", "InertialShapeFactor"]
_SHAPES += ["Eccentricity", "Asphericity", "SpherocityIndex", "PBF"]
_LENGTHS = {"AUTOCORR3D": 80, "RDF": 210, "MORSE": 224, "WHIM": 114, "USRCAT": 60}
NAMES = [*_SHAPES, *(f"{kind}_{k + 1}" for kind, n in _LENGTHS.items() for k in range(n))]


class MoleculeWarning(UserWarning):
    """Some molecules have no shapes, and are left out."""


@reads(
    path="A table with one row per molecule: CSV, Excel, Parquet or Arrow.",
    smiles="The column of SMILES.",
    bag=("str", "The column of the molecules' names; None: their SMILES."),
    label=("str", "The column of the labels; None: there are none."),
    groups=("str", "The column of groups, such as scaffolds."),
    n_conformers="Maximum number of conformers per molecule.",
    random_state="Seed of the embedding.",
    callback="Called after each molecule with how many are done, and of how many.",
)
def read_molecules(
    path: str | Path,
    bag: str | None = None,
    label: str | None = None,
    *,
    smiles: str,
    groups: str | None = None,
    n_conformers: int = 10,
    random_state: int = 0,
    callback: Callable[[int, int], Any] = lambda done, total: None,
) -> LabeledBags:
    """Read molecules as bags of their conformers; those without any are named in a warning.

    Examples
    --------
    >>> from bagwise import io
    >>> path = getfixture("tmp_path") / "molecules.csv"
    >>> _ = path.write_text("name,smiles,pKi\\nbutanol,CCCCO,5.2\\nphenol,Oc1ccccc1,6.1\\n")
    >>> bags, y = io.read_molecules(path, "name", "pKi", smiles="smiles", n_conformers=3)
    >>> bags.ids, str(bags.instance_ids[-1]), y
    (array(['butanol', 'phenol'], dtype='<U7'), 'phenol#0', array([5.2, 6.1]))
    """
    from bagwise.io.dispatch import recognize
    from bagwise.io.findings import read_table  # imports scikit-learn

    path = Path(path)
    table = read_table(path, recognize(path), texts=[] if bag is None else [bag])
    for name in filter(None, (smiles, bag, label, groups)):
        if name not in table.columns:
            raise FormatError(path, f"has no column {name!r}. {suggestion(name, table.columns)}")
    texts = [str(text) for text in table[smiles]]
    ids = texts if bag is None else [str(name) for name in table[bag]]
    twice = table[bag or smiles][table[bag or smiles].duplicated()]
    if len(twice):
        problem = f"has the molecule {twice.iloc[0]!r} twice in column {bag or smiles!r}"
        raise FormatError(path, f"{problem}: name them apart.")
    bags, failures = embed_molecules(
        texts, ids, n_conformers=n_conformers, random_state=random_state, callback=callback
    )
    kept = table[[name not in failures for name in ids]]
    if groups is not None:
        bags = bags.replace(groups=kept[groups].to_numpy())
    y = None if label is None else kept[label].to_numpy()
    if y is not None and kept[label].isna().any():
        missing = bags.ids[int(np.flatnonzero(kept[label].isna())[0])]
        raise FormatError(path, f"has no value of {label!r} for the molecule {str(missing)!r}.")
    return bags, y if y is None or y.dtype != object else y.astype(str)


def embed_molecules(
    smiles: Sequence[str],
    ids: Sequence[str] | None = None,
    *,
    n_conformers: int = 10,
    random_state: int = 0,
    callback: Callable[[int, int], Any] = lambda done, total: None,
) -> tuple[Bags, dict[str, str]]:
    """Return molecules as bags of conformers, and why molecules that are left out have none."""
    require("rdkit", "molecules")
    ids = list(smiles) if ids is None else list(ids)
    rows: list[Array] = []
    kept: list[str] = []
    failures: dict[str, str] = {}
    for number, (name, text) in enumerate(zip(ids, smiles, strict=True)):
        try:
            rows.append(_recall(text, n_conformers, random_state))
            kept.append(name)
        except (ValueError, RuntimeError) as error:
            failures[name] = str(error).strip().rstrip(".")
        callback(number + 1, len(ids))
    if failures:
        every = "; ".join(f"{name}: {why}" for name, why in failures.items())
        text = f"{len(failures)} of {len(ids)} molecules have no shapes and are left out. {every}."
        warnings.warn(text, MoleculeWarning, stacklevel=2)
    if not kept:
        raise ValueError("No molecule has shapes: is this the column of SMILES?")
    offsets = np.cumsum([0, *map(len, rows)])
    numbers = [f"{name}#{k}" for name, of in zip(kept, rows, strict=True) for k in range(len(of))]
    named: Any = {"feature_names": np.array(NAMES), "instance_ids": np.array(numbers)}
    return Bags(np.concatenate(rows), offsets, ids=np.array(kept), **named), failures


def embed(smiles: str, n_conformers: int = 10, random_state: int = 0) -> Any:
    """Return the molecule of RDKit with its conformers, whose numbers are those of instances."""
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdDistGeom

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None or not molecule.GetNumAtoms():
            raise ValueError(f"{smiles!r} is no SMILES of a molecule")
        molecule = Chem.AddHs(molecule)
        options: Any = rdDistGeom.ETKDGv3()
        options.randomSeed = random_state + 1  # 0 would embed the same conformer again and again
        options.pruneRmsThresh = _APART
        if not rdDistGeom.EmbedMultipleConfs(molecule, n_conformers, options):
            options.useRandomCoords = True  # slower, and for molecules that are strained
            if not rdDistGeom.EmbedMultipleConfs(molecule, n_conformers, options):
                raise ValueError("no conformer could be embedded")
    for number, conformer in enumerate(molecule.GetConformers()):
        conformer.SetId(number)
    return molecule


def _recall(smiles: str, n_conformers: int, random_state: int) -> Array:
    """Return the descriptors of a molecule's conformers, from the cache if they are there."""
    from rdkit import rdBase

    facts = (smiles, n_conformers, random_state, _APART, len(NAMES), rdBase.rdkitVersion)
    name = hashlib.sha256(repr(facts).encode()).hexdigest()[:24]
    file = cache_folder() / "molecules" / f"{name}.npy"
    if file.is_file():
        return np.load(file)
    rows = _describe(embed(smiles, n_conformers, random_state))
    file.parent.mkdir(parents=True, exist_ok=True)
    with writing(file) as out:
        np.save(out, rows)
    return rows


def _describe(molecule: Any) -> Array:
    """Return one row of descriptors per conformer."""
    from rdkit.Chem import rdMolDescriptors as of

    rows = []
    for number in range(molecule.GetNumConformers()):
        row = [getattr(of, f"Calc{name}")(molecule, confId=number) for name in _SHAPES]
        for name in _LENGTHS:
            calculate = of.GetUSRCAT if name == "USRCAT" else getattr(of, f"Calc{name}")
            row += calculate(molecule, confId=number)
        rows.append(row)
    table = np.array(rows)
    if not np.isfinite(table).all():
        raise ValueError("its descriptors are not finite")
    return table
