"""Max-margin multiple-instance learning: classify bags, point at the instances responsible."""

from . import (
    assumptions as assumptions,
    datasets as datasets,
    inspection as inspection,
    io as io,
    metrics as metrics,
    model_selection as model_selection,
    plot as plot,
    preprocessing as preprocessing,
    testing as testing,
)
from .bags import Bags as Bags, check_bags as check_bags
from .catalog import by_paper_name as by_paper_name
from .estimators.assigned import Pool as Pool
from .estimators.params import KernelOptions as KernelOptions
from .estimators.pipeline import BagPipeline as BagPipeline, explain as explain
from .graphs import Graph as Graph
from .model_selection.audit import audit as audit
from .model_selection.auto import (
    AutoBagClassifier as AutoBagClassifier,
    AutoBagRegressor as AutoBagRegressor,
    AutoBagSurvival as AutoBagSurvival,
)
from .models.annealed import (
    AnnealedLabelSVC as AnnealedLabelSVC,
    AnnealedProportionSVC as AnnealedProportionSVC,
    AnnealedWitnessSVC as AnnealedWitnessSVC,
    Annealing as Annealing,
)
from .models.bagkernel import (
    BagKernelRegressor as BagKernelRegressor,
    BagKernelSVC as BagKernelSVC,
)
from .models.citation import CitationKNN as CitationKNN
from .models.composition import (
    CompositionLogistic as CompositionLogistic,
    CompositionRegressor as CompositionRegressor,
)
from .models.contentlink import ContentLinkSVC as ContentLinkSVC
from .models.ddsvm import DDSVM as DDSVM
from .models.diverse_density import EMDD as EMDD, DiverseDensity as DiverseDensity
from .models.ensemble import BagEnsemble as BagEnsemble
from .models.graph import GraphSVC as GraphSVC
from .models.instance import InstanceSVC as InstanceSVC
from .models.keyinstance import KeyInstanceSVC as KeyInstanceSVC
from .models.markov import (
    EarlyStopping as EarlyStopping,
    MarkovNetworkClassifier as MarkovNetworkClassifier,
)
from .models.meansvc import MeanRegressor as MeanRegressor, MeanSVC as MeanSVC
from .models.mica import MICA as MICA
from .models.milboost import MILBoost as MILBoost
from .models.miles import MILES as MILES, MILESEmbedding as MILESEmbedding
from .models.missvm import MissSVM as MissSVM
from .models.odm import ODM as ODM, OptimalMarginSVC as OptimalMarginSVC
from .models.ordinal import OrdinalBagClassifier as OrdinalBagClassifier
from .models.parts import PartClassifier as PartClassifier
from .models.proportions import LabelProportionSVC as LabelProportionSVC
from .models.proportions_likelihood import (
    LabelProportionLogistic as LabelProportionLogistic,
)
from .models.semiproximal import SemiProximalSVC as SemiProximalSVC
from .models.sparse_mil import SparseMIL as SparseMIL
from .models.statistics import (
    StatisticsForest as StatisticsForest,
    StatisticsForestRegressor as StatisticsForestRegressor,
    StatisticsLogistic as StatisticsLogistic,
    StatisticsSVC as StatisticsSVC,
)
from .models.survival import BagSurvival as BagSurvival, CoxBag as CoxBag
from .models.witness import LabelSVC as LabelSVC, WitnessSVC as WitnessSVC
from .models.witness_regressor import WitnessRegressor as WitnessRegressor
from .persistence import load as load, save as save
from .preprocessing import (
    BagStatistics as BagStatistics,
    PerInstance as PerInstance,
    make_pipeline as make_pipeline,
)
from .reports import report as report, report_comparison as report_comparison

__version__: str
