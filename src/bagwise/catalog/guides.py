r"""What a reader decides by: objective, cost, when to use an estimator and when not.

Formulas are LaTeX without macros. Y is a label of -1 or 1, f_k = w.x_k + b the score of instance k,
and l a margin loss. Costs are in n instances of d features in N bags of m instances each, T outer
iterations. An estimator that searches or combines others has theirs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guide:
    """What to know about an estimator before its parameters.

    Parameters
    ----------
    objective : str
        What is minimized, in LaTeX.
    time : str
        Time of a fit.
    memory : str
        Memory beside the data.
    use : str
        When to use it.
    avoid : str
        When not to, and what to use instead.
    """

    objective: str
    time: str
    memory: str
    use: str
    avoid: str


_ROWS_TIME = (
    "linear: O(T n d²), or O(T n d) per product for many features; "
    "kernel: O(n² d + T n³) up to 3,000 instances, O(n² d + T n²) per product above"
)
_ROWS_MEMORY = (
    "linear: O(n + d²), a few vectors for many features; "
    "kernel: 2 to 5 matrices of n² doubles, floats above 3,000 instances, O(n) with"
    ' kernel_approx="nystroem"'
)
_BAGS_TIME = "linear: O(n d + N d²); kernel: O(n d + N² d + N³)"
_BAGS_MEMORY = "linear: O(N d); kernel: 8 N² bytes"
_POOL_TIME = "O(n² d + T (K n² + a³)), T rounds of a pool of K assignments, a active instances"
_LOSS_OF_MAX = r"\ell\left(\max_{k \in i} f_k\right)"
_NEGATIVES = r"C \sum_{Y_k = -1} \ell(-f_k)"
_RIDGE = r"\min_{w, b} \; \frac{1}{2} \|w\|^2"

GUIDES = {
    "InstanceSVC": Guide(
        rf"{_RIDGE} + C \sum_k \ell(Y_k f_k)",
        _ROWS_TIME.replace("T ", ""),
        _ROWS_MEMORY,
        'as a baseline; when most instances of a positive bag are positive (vote="majority")',
        "few positives per positive bag: most of its labels are then wrong. Take WitnessSVC",
    ),
    "LabelSVC": Guide(
        r"\min_{w, b, y} \; \frac{1}{2} \|w\|^2 + C \sum_k \ell(y_k f_k)"
        r" \quad \text{with} \quad \max_{k \in i} y_k = 1 \text{ if } Y_i = 1",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "several positives per positive bag, and a label is wanted for each instance",
        "one positive among many: it tends to keep too many labels positive. Take WitnessSVC",
    ),
    "WitnessSVC": Guide(
        rf"{_RIDGE} + C \sum_{{Y_i = 1}} {_LOSS_OF_MAX} + {_NEGATIVES}",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "one instance makes a bag positive, and you want to see which one; a good first model",
        "the whole bag decides (its mean or spread): take BagKernelSVC or StatisticsForest",
    ),
    "MICA": Guide(
        rf"\min_{{w, b, \nu}} \; R(w) + C \sum_{{Y_i = 1}} \ell\left(\sum_{{k \in i}} \nu_k"
        rf" f_k\right)"
        rf" + {_NEGATIVES}, \quad \nu \geq 0, \; \sum_{{k \in i}} \nu_k = 1",
        _ROWS_TIME,
        _ROWS_MEMORY,
        'as WitnessSVC, when a mixture of instances may stand for the bag; penalty="l1"'
        " chooses features",
        "you need the one witness: take WitnessSVC",
    ),
    "AnnealedLabelSVC": Guide(
        r"\min_{w, b, p} \; \frac{1}{2} \|w\|^2 + C \sum_k \left[ p_k \ell(f_k) + (1 - p_k)"
        r" \ell(-f_k) \right]"
        r" - T S(p), \quad \sum_{k \in i} p_k \geq 1",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "as LabelSVC, where alternation ends in a poor local optimum; C is large",
        "speed matters more than the objective: take LabelSVC",
    ),
    "AnnealedWitnessSVC": Guide(
        r"\min_{w, b, p} \; \frac{1}{2} \|w\|^2 + C \sum_k p_k \ell(Y_k f_k) - T S(p),"
        r" \quad \sum_{k \in i} p_k = 1",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "few witnesses in large bags (slides), where the first choice of witnesses decides",
        "speed matters more than the last point of accuracy: take WitnessSVC",
    ),
    "AnnealedProportionSVC": Guide(
        r"\min_{w, b, p} \; \frac{1}{2} \|w\|^2 + C \sum_k E_p\left[\ell(y_k f_k)\right]"
        r" + C_2 \sum_i E_p\left(\sum_{k \in i} \frac{y_k + 1}{2} - m_i p^*\right)^2 - T S(p)",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "the fraction of positives in positive bags is known, or known per bag (priors)",
        "the fraction is unknown and there are too few bags to choose it: take AnnealedLabelSVC",
    ),
    "AnnealedProportionSVCCV": Guide(
        r"\min_{C, C_2, p^*} \; \text{error of ALP-SVM on held-out folds}",
        "one inverse of O(n³) per C, then a fraction of a fit per grid point and fold",
        "16 n² bytes",
        "the fraction of positives has to be chosen, by folds that share all that can be shared",
        "more than about 3,000 instances: search with BagGridSearchCV and a linear kernel",
    ),
    "SemiProximalSVC": Guide(
        r"\min_{w, b} \; \frac{1}{2} \|w\|^2 + \frac{1}{2} b^2 + \frac{C}{2} \sum_{k \in J^+}"
        r" (1 - f_k)^2"
        r" + C \sum_{k \in J^-} \max(0, 1 + f_k)",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "many positives per positive bag that lie close together",
        "few positives per bag: instances rarely change sides. Take WitnessSVC",
    ),
    "OptimalMarginSVC": Guide(
        r"\min_A \min_w \; \frac{1}{2} \|w\|^2 + \frac{C_+}{p} \sum_{Y_i = 1} \ell(w \cdot"
        r" \psi_i(A))"
        r" + \frac{C_-}{q} \sum_{Y_k = -1} \ell(-w \cdot x_k)",
        _POOL_TIME,
        "2.5 matrices of n² doubles",
        "noisy bags, where the variance of margins matters; a convex relaxation over key instances",
        "more than a few thousand instances, or when time is short: take WitnessSVC",
    ),
    "ODM": Guide(
        r"\min_w \; \frac{1}{2} \|w\|^2 + \frac{C}{n} \sum_k \ell(Y_k w \cdot x_k), \quad"
        r" \ell(m) = "
        r"\frac{\max(0, 1 - \theta - m)^2 + \nu \max(0, m - 1 - \theta)^2}{(1 - \theta)^2}",
        _ROWS_TIME.replace("T ", ""),
        _ROWS_MEMORY,
        "as InstanceSVC, with margins of low variance",
        "few positives per positive bag: take OptimalMarginSVC",
    ),
    "KeyInstanceSVC": Guide(
        r"\min_A \min_w \; \frac{1}{2} \|w\|^2 + \frac{C}{2} \sum_{Y_i = 1} \max(0, 1 - w"
        r" \cdot \psi_i(A))^2"
        r" + \frac{C}{2} \sum_s \max(0, 1 + w \cdot x_s)^2",
        _POOL_TIME,
        "2.5 matrices of n² doubles",
        "locating regions of interest, by a relaxation that does not depend on a start",
        "more than a few thousand instances: take WitnessSVC",
    ),
    "MarkovNetworkClassifier": Guide(
        r"\min_w \; \frac{\alpha}{2} \|w\|^2 + \sum_i \max(0, 1 - Y_i D_i), \quad D_i = \max_y"
        r" f_w(B_i, 1, y)"
        r" - \max_y f_w(B_i, -1, y)",
        "O(T n d) and O(n log m) for the inference in each of T bundle steps",
        "O(T (d + bins)) for the bundle; kernel: 8 n² bytes",
        "the number of positives matters, not only whether there is one; its weights can be drawn",
        "time is short, or one positive suffices: take WitnessSVC",
    ),
    "MultiLabelMarkovNetwork": Guide(
        r"\min_w \; \frac{\alpha}{2} \|w\|^2 + \sum_i \max_{Y} \left[ \Delta(Y, Y_i) + F_w(B_i, Y)"
        r" - F_w(B_i, Y_i) \right], \quad F_w = \sum_{l} f_l + \sum_{l < m \in Y} w_{lm}",
        "O(T (n d L + N 2^L)) for L labels, after one network per label",
        "O(T (d L + L²)) for the bundle",
        "bags have several labels, and some labels occur together",
        "there are more than ten labels (pairs=False), or labels that are unrelated",
    ),
    "DiverseDensity": Guide(
        r"\max_{c, s} \; \prod_{Y_i = 1} \left(1 - \prod_{k \in i} (1 - p_k)\right) \prod_{Y_k"
        r" = -1} (1 - p_k),"
        r" \quad p_k = \exp\left(-\sum_f s_f^2 (x_{kf} - c_f)^2\right)",
        "O(T n d) per start and O(n² d) to choose the starts",
        "O(n²) while the starts are chosen",
        "positive instances form one compact cluster; the learned scales tell which features"
        " matter",
        "hundreds of features, or several kinds of positives: take MILES or WitnessSVC",
    ),
    "EMDD": Guide(
        r"\max_{c, s} \; \prod_i P_i(c, s), \quad P_i \text{ by the instance of bag } i \text{"
        r" nearest to } c",
        "O(T n d) per start and O(n² d) to choose the starts",
        "O(n²) while the starts are chosen",
        "as DiverseDensity, with larger bags",
        "hundreds of features, or several kinds of positives: take MILES or WitnessSVC",
    ),
    "MILES": Guide(
        r"\min_{w, b} \; \|w\|_1 + C \sum_i \max(0, 1 - Y_i (w \cdot m(B_i) + b)), \quad"
        r" m_k(B) = \max_{x \in B} \exp(-\gamma \|x - x_k\|^2)",
        "O(n² d) for the embedding, then a linear program of N rows and n columns",
        "O(n²) while the embedding is computed, then 8 N n bytes",
        "several kinds of positive instances, or negative evidence; chooses few telling instances",
        "signals of a few features among many: distances do not see them. Take"
        ' WitnessSVC(kernel="linear")',
    ),
    "MeanSVC": Guide(
        rf"{_RIDGE} + C \sum_i \ell\left(Y_i f(\bar{{x}}_i)\right), \quad"
        r" \bar{x}_i = \frac{1}{m_i} \sum_{k \in i} x_k",
        _BAGS_TIME,
        _BAGS_MEMORY,
        "as a quick first baseline, also for millions of instances",
        "one instance in many decides: its trace in the mean is small. Take WitnessSVC",
    ),
    "StatisticsForest": Guide(
        r"\text{trees on the row } \left(\min, \text{quartiles}, \max\right)_{k \in i} x_{kf}"
        r" \text{ of each bag } i",
        "O(n d log m + trees N log N √d)",
        "O(N d) and the trees",
        "a strong baseline for hundreds of bags, without scaling or tuning",
        "the responsible instance must be shown reliably: take a witness model",
    ),
    "StatisticsSVC": Guide(
        rf"{_RIDGE} + C \sum_i \ell\left(Y_i f(s_i)\right), \quad s_i = (\text{{mean}},"
        rf" \text{{std}}, \min, \max)_{{k \in i}} x_k",
        _BAGS_TIME,
        _BAGS_MEMORY,
        "whole bags differ in mean, spread or extremes; quick",
        "one instance in many decides, or the instance must be shown: take WitnessSVC",
    ),
    "StatisticsLogistic": Guide(
        r"\min_{w, b} \; \frac{1}{2} \|w\|^2 + C \sum_i \log\left(1 + \exp(-Y_i (w \cdot s_i +"
        r" b))\right)",
        "O(n d + T N d)",
        "O(N d)",
        "as StatisticsSVC, with weights that can be read",
        "one instance in many decides: take WitnessSVC",
    ),
    "BagKernelSVC": Guide(
        rf"{_RIDGE} + C \sum_i \ell\left(Y_i (w \cdot \phi(B_i) + b)\right), \quad"
        r" \phi(B) \cdot \phi(B') = k(B, B')",
        "O(n² d + N³); linear mean or sum: O(n d + N d²)",
        "8 N² bytes (blocks of n rows while they are computed)",
        "the whole bag decides; a strong baseline on molecules and images",
        "a few witnesses among hundreds of instances: they drown in the mean. Take WitnessSVC",
    ),
    "GraphSVC": Guide(
        r"\min_{w, b} \; \frac{1}{2} \|w\|^2 + \frac{1}{2} b^2 + \frac{C}{n} \sum_i \max(0, 1"
        r" - Y_i f(B_i))"
        r" + \sum_v \frac{\mu}{|E_v|} \sum_{(p, q) \in E_v} w_{pq} \left|"
        r" \frac{f(B_p)}{\sqrt{d_p}} - \frac{f(B_q)}{\sqrt{d_q}} \right|",
        "O(n d + e) per cutting plane, for e edges in all graphs E_v (views)",
        "O(T d) for the cuts; kernel: 8 n² bytes",
        "bags are linked (pages, patients, molecules by similarity), and most links join equal"
        " labels",
        "fewer than about 60 % of the links join equal labels, or there is no graph: take"
        " WitnessSVC",
    ),
    "GraphSVCCV": Guide(
        r"\min_{C, \mu} \; \text{error of MILSD on hidden labels}",
        "O(n d + e) per cutting plane, for e edges; neighbors on the grid share their cuts",
        "as GraphSVC",
        "C and mu of GraphSVC have to be chosen",
        "bags of the future are not in the graph: search with BagGridSearchCV",
    ),
    "SparseMIL": Guide(
        rf"{_RIDGE} + C \sum_{{Y_i = 1}} \ell\left(\bar{{f}}_i + 1 - \frac{{2 - m_i}}{{m_i}}\right)"
        r" + \frac{C}{\bar{m}} \sum_{Y_k = -1} \ell(-f_k)",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "few positives per positive bag and bags of different sizes",
        'labels at threshold 0: use threshold="calibrated"',
    ),
    "MissSVM": Guide(
        rf"{_RIDGE} + C \sum_{{Y_i = 1}} {_LOSS_OF_MAX} + {_NEGATIVES}"
        r" + C u \sum_{Y_k = 1} \ell(|f_k|)",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "clusters are far apart, so that the boundary should avoid unlabeled instances",
        "classes overlap: the extra term then misleads. Take WitnessSVC",
    ),
    "DDSVM": Guide(
        r"\min_{w, b} \; \frac{1}{2} \|w\|^2 + C \sum_i \ell\left(Y_i f(\phi(B_i))\right), \quad"
        r" \phi_k(B) = \min_{x \in B} \|s_k (x - c_k)\|",
        "O(P T n d) for P prototypes",
        "O(N P)",
        "images: several kinds of regions, positive and negative",
        "time is short: the search for prototypes is the slowest of all methods. Take MILES",
    ),
    "CitationKNN": Guide(
        r"\text{sign of votes of } R \text{ references and } C \text{ citers by } \; H(B, B') = "
        r"\max\left(\max_{x \in B} \min_{x' \in B'} \|x - x'\|, \; \max_{x' \in B'} \min_{x"
        r" \in B} \|x - x'\|\right)",
        "O(n² d), again for every prediction",
        "O(n²) for distances between instances, and the training bags",
        "few bags, few features, no training; molecules",
        "large data, irrelevant features or different scales: take WitnessSVC",
    ),
    "MILBoost": Guide(
        r"\max_F \; \sum_i \left[ Y_i \log P_i + (1 - Y_i) \log(1 - P_i) \right], \quad"
        r" P_i = 1 - \prod_{k \in i} (1 - p_k), \; p_k = \frac{1}{1 + e^{-F(x_k)}}",
        "O(T n d)",
        "O(n d) bytes for the bins",
        "features on different scales, interactions, many instances",
        "fewer than about a hundred bags: it overfits. Take WitnessSVC",
    ),
    "BagEnsemble": Guide(
        r"F(B) = \frac{1}{M} \sum_{j = 1}^M f_j(B), \quad f_j \text{ fitted to bags drawn with"
        r" replacement}",
        "M fits",
        "M models",
        "a model that changes much from sample to sample; gives out-of-bag scores",
        "the model is stable, or must be read: take the model alone",
    ),
    "PathCV": Guide(
        r"\hat C = \underset{C}{\text{arg max}} \; \text{out-of-fold accuracy of the model at } C,"
        r" \quad \text{each fit begun at its neighbor's solution}",
        "2 to 6 fits of the model per fold, for nine values",
        "one kernel matrix of 8 n² bytes; one model per value",
        "a quick look at the effect of C, or of another parameter of a max-margin model",
        "the final choice for a model whose result depends on its start, or several parameters at"
        " once: take BagGridSearchCV",
    ),
    "AutoBagClassifier": Guide(
        r"F(B) = \sum_j a_j f_j(B), \quad a \geq 0 \text{ chosen by Caruana's greedy selection"
        r" on out-of-fold scores}",
        "what time_limit allows",
        "the largest candidate",
        "you do not know which model suits your bags",
        "you need one model that can be explained: compare models and take the best",
    ),
    "LabelProportionSVC": Guide(
        r"\min_{w, b, y} \; \frac{1}{2} \|w\|^2 + C \sum_k \ell(y_k f_k) \quad \text{with} \quad"
        r" \#\{k \in i : y_k = 1\} = \text{round}(r_i m_i), \; r_i \text{ the share of bag } i",
        _ROWS_TIME,
        _ROWS_MEMORY,
        "bags come with a share of positive instances instead of a label; classes are separable",
        "classes overlap, or instances need probabilities: take LabelProportionLogistic",
    ),
    "LabelProportionLogistic": Guide(
        r"\min_{w, b} \; \frac{\alpha}{2} \|w\|^2 - \sum_i \log P\left(\sum_{k \in i} y_k ="
        r" \text{round}(r_i m_i)\right), \quad P(y_k = 1) = \frac{1}{1 + e^{-f_k}}",
        "O(T n (d + m)), T steps of L-BFGS",
        "O(n m) for the exact sums over labelings",
        "bags come with shares, classes overlap, and instances need probabilities",
        "classes are separable by a kernel: LabelProportionSVC is then ahead. Try it as well",
    ),
    "ConformalBagClassifier": Guide(
        r"\{c : p(c) > 1 - \text{level}\}, \quad p(c) = \frac{1 + \sum_g \text{mean}_{i \in g}"
        r" [a_i \geq a(c)]}{G + 1}, \; a_i = - \text{score of the class of bag } i",
        'one fit per fold; one fit with method="split"',
        "one model per fold",
        'a decision needs a stated error rate, and "cannot tell" is an acceptable answer',
        "there are fewer calibration bags than 1 / (1 - level): every set then holds all labels",
    ),
    "BagGridSearchCV": Guide(
        r"\underset{\theta \in \text{grid}}{\text{arg max}} \; \text{mean score of the model at }"
        r" \theta \text{ on held-out folds}",
        "one fit per grid point and fold, and one at the end",
        "one model per process",
        "parameters have to be chosen, and the chosen model should still point at instances",
        "its best score is to be published: it is too high. Use compare or nested folds",
    ),
    "BagRandomizedSearchCV": Guide(
        r"\underset{\theta \sim P}{\text{arg max}} \; \text{mean score of the model at }"
        r" \theta \text{ on held-out folds}",
        "n_iter fits per fold, and one at the end",
        "one model per process",
        "as BagGridSearchCV, with more than two parameters",
        "one or two parameters have to be chosen: take BagGridSearchCV",
    ),
    "KernelFeatures": Guide(
        r"\phi(x) = \left(k(x, x_1), \ldots, k(x, x_n)\right) U \Lambda^{-1/2},"
        r" \quad K = U \Lambda U^T",
        "O(n² d + n³), once",
        "O(n²), then n features per instance",
        "a linear model (Markov networks, LabelProportionLogistic) should use a kernel",
        "there are more than a few thousand instances: take scikit-learn's Nystroem",
    ),
    "IntersectionMap": Guide(
        r"\phi(x) \cdot \phi(x') \approx \sum_j \min(x_j, x'_j)",
        "O(n d)",
        "2n + 1 columns per feature, with n the parameter (3 by default)",
        "features are histograms or counts, and the model is linear",
        "features may be negative and cannot be scaled to [0, 1]",
    ),
    "MILESEmbedding": Guide(
        r"m_k(B) = \max_{x \in B} \exp(-\gamma \|x - x_k\|^2)",
        "O(n² d), or O(n n_components d)",
        "O(n²) while it is computed, then 8 N n bytes, or 8 N n_components",
        "a classifier of scikit-learn should learn from bags, by their similarity to instances",
        "the classifier does not matter: MILES has its own. Signals of a few features among many",
    ),
    "BagStatistics": Guide(
        r"s(B) = \left(\min_{x \in B} x_f, \; \max_{x \in B} x_f, \; \frac{1}{m} \sum_{x \in B}"
        r" x_f\right)_{f = 1}^{d}",
        "O(n d); quantiles: O(n d log m)",
        "O(N d)",
        "whole bags differ, and a classifier of scikit-learn should learn from one row per bag",
        "one instance in many decides: take WitnessSVC",
    ),
    "PerInstance": Guide(
        r"\{x_1, \ldots, x_m\} \mapsto \{t(x_1), \ldots, t(x_m)\}, \quad t \text{ fitted on all"
        r" training instances}",
        "that of the transformer on n rows",
        "a copy of the instances",
        "a scaler, an imputer or a kernel map of scikit-learn should work on the instances of bags",
        "one row per bag is wanted: take BagStatistics",
    ),
    "SpanningTrees": Guide(
        r"\min_{T} \sum_{(i, j) \in T} \|x_i - x_j\|, \quad T \text{ a tree of a bag's instances}",
        "O(m² d) per bag",
        "O(m) per bag",
        "instances that are close should have the same label, in a network on trees",
        "the data say which instances are neighbors: give the bags their parents",
    ),
    "BagPipeline": Guide(
        r"f(B) = g(t_k(\ldots t_1(B)))",
        "the sum of its steps",
        "that of its steps",
        "steps such as scaling belong to the model, and instances should be scored through them",
        "instances need no scores: scikit-learn's Pipeline works as well",
    ),
}
