"""Phan et al. 2020 (DPAL), Figures 2 to 7: accuracy under attack and certified, and what replaces it."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from studies.rows import Row, at, find_row, row_of, rows_of
from studies.runner import Context
from studies.study import Axis, Grid, Line, Metric, Panel, Reference, Statement, Study, Table, above, near

if TYPE_CHECKING:
    from deniable.models.images.model import ImageModel
    from studies.image_systems import Images

SYSTEMS = ("dp-cert", "dpal", "securesgd", "securesgd-agm", "pixeldp", "dp-sgd", "dp-sgd-batch-clipped", "adlm")
SILENT = "dpal, own noise"
TITLES = {
    "dp-cert": "DP-CERT (ours): private and certified",
    "dpal": "DPAL, Algorithm 1",
    SILENT: "DPAL with its own training noise only",
    "securesgd": "SecureSGD",
    "securesgd-agm": "SecureSGD-AGM",
    "pixeldp": "PixelDP",
    "dp-sgd": "DP-SGD",
    "dp-sgd-batch-clipped": "DP-SGD as in the public code (batch mean clipped)",
    "adlm": "AdLM",
}
CERTIFIED = ("dp-cert", "dpal", "securesgd", "securesgd-agm", "pixeldp")
BASELINES = ("securesgd", "securesgd-agm", "adlm", "dp-sgd")
FOUR, THREE = "mean of four", "mean but FGSM"
DELTA = 1e-5
_PIXELDP_BATCH = 256
_NEAR = 0.05
"""Difference of two accuracies within which a number of the paper's text and ours count as the same."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How much is trained, attacked and drawn on one data set.

    Attributes:
        attack_sizes: mu_a, l_inf, for pixels in [-1, 1].
        train: training images, drawn once for all systems; None for all.
        images: of the test set, attacked; drawn once for all systems.
        gradient_draws: of a model's noise, averaged in each gradient of an attack.
        votes: draws of a model's noise for a prediction.
        dpal_votes: the same for DPAL's verified inference, whose noise is large.
        pgd_steps: of the MadryEtAl attack, 40 in the paper.
        private_steps: of DP-SGD and all systems built on it.
        private_batch: their expected batch.
        views: of an image in our training; the others take one.
        dpal_steps: of DPAL.
        dpal_attack_steps: T_mu of the attacks inside DPAL's training.
        dpal_batch: m of DPAL.
        dpal_rate: learning rate of DPAL's Adam, above the paper's 1e-4 (MNIST) since steps are few.
        adlm_steps: of AdLM.
        adlm_batch: of AdLM, also for its 200 steps towards relevances.
        pixeldp_steps: of PixelDP, of batches of 256.
        width: factor on the layers of the paper's network.
        noise: standard deviation of our noise, for pixels in [-1, 1].
        construction: the l2 attack size for which PixelDP and SecureSGD make their noise, for pixels in [-1, 1].
        certified_images: images that are certified.
        choosing: draws that choose the class of a certificate.
        certified_draws: draws that bound its scores after an attack.
        proved_draws: the same without attack, for what is proved.
    """

    attack_sizes: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.6)
    train: int | None = None
    images: int = 300
    gradient_draws: int = 2
    votes: int = 32
    dpal_votes: int = 64
    pgd_steps: int = 20
    private_steps: int = 80
    private_batch: int = 2_048
    views: int = 3
    dpal_steps: int = 96
    dpal_attack_steps: int = 2
    dpal_batch: int = 2_499
    dpal_rate: float = 5e-3
    adlm_steps: int = 120
    adlm_batch: int = 2_499
    pixeldp_steps: int = 600
    width: float = 1.0
    noise: float = 0.5
    construction: float = 0.1
    certified_images: int = 120
    choosing: int = 32
    certified_draws: int = 300
    proved_draws: int = 1_000


@dataclasses.dataclass(frozen=True)
class Sizes:
    """One schedule for each data set."""

    mnist: Schedule
    cifar10: Schedule


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set, and where the paper's figures about it stand.

    Attributes:
        title: in words.
        file: in the data folder.
        network: the paper's, in `deniable.models.images.networks.IMAGE_NETWORKS`.
        tight: epsilon of the figure against attack size.
        certified_at: epsilon of the figure of certified accuracy.
        figures: against epsilon, against attack size, and certified.
    """

    title: str
    file: str
    network: str
    tight: float
    certified_at: float
    figures: tuple[str, str, str]


ATTACKED_AT = 0.2
"""mu_a of the figures against epsilon."""
DATA_SETS = {
    "mnist": DataSet("MNIST", "mnist.npz", "paper-mnist", 0.2, 1.0, ("Figure 2", "Figure 4", "Figure 6")),
    # A copy that went through JPEG at quality 75, cropped to the central 28 x 28 pixels.
    "cifar10": DataSet(
        "CIFAR-10 (JPEG)",
        "cifar10_jpeg_q75.tar.xz",
        "paper-cifar10",
        2.0,
        2.0,
        ("Figure 3", "Figure 5", "Figure 7"),
    ),
}


def name_curve(name: str, system: str) -> str:
    """Return the curve of one system on one data set."""
    return f"{name}/{system}"


def measure(context: Context, name: str, system: str, epsilon: float | None) -> list[Row]:
    """Train one system at one epsilon, and return what is claimed of it, what is proved, and its accuracies."""
    from deniable.models.images.training import fit_image_model
    from deniable.registry import IMAGE_TRAINERS
    from studies.image_systems import load_images, silence_noise

    schedule, data_set = getattr(context.sizes, name), DATA_SETS[name]
    images: Images = context.share(
        f"images {name}", lambda: load_images(context, name, data_set.file, schedule.train, schedule.images)
    )
    options = choose_options(schedule, data_set, system, epsilon, IMAGE_TRAINERS[system].option_names)
    model = fit_image_model(
        IMAGE_TRAINERS[system],
        images.dataset,
        IMAGE_TRAINERS[system].choose_options(**options),
        seed=context.derive_seed(name, "train", system, epsilon),
    )
    model.network.to(images.tested.pixels.device)
    votes = schedule.dpal_votes if system == "dpal" else schedule.votes
    rows = describe_privacy(model, name_curve(name, system), epsilon)
    if system != "pixeldp":
        rows += measure_accuracy(images, model, system, epsilon, votes)
    if system == "dpal":
        rows += measure_accuracy(images, silence_noise(model), SILENT, epsilon, 1)
    if system in CERTIFIED and epsilon in {None, data_set.certified_at}:
        rows += measure_certificates(images, model, system)
    return rows


def choose_options(
    schedule: Schedule, data_set: DataSet, system: str, epsilon: float | None, known: Iterable[str]
) -> dict[str, Any]:
    """Return the options of one training run, those that the system knows."""
    from studies.image_systems import PAPER_UNIT

    is_ours = system == "dp-cert"
    steps = {"dpal": schedule.dpal_steps, "adlm": schedule.adlm_steps, "pixeldp": schedule.pixeldp_steps}
    batches = {"dpal": schedule.dpal_batch, "adlm": schedule.adlm_batch, "pixeldp": _PIXELDP_BATCH}
    options: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": DELTA,
        "network": "small" if is_ours else data_set.network,
        "width": 1.0 if is_ours else schedule.width,
        "steps": steps.get(system, schedule.private_steps),
        "batch_size": batches.get(system, schedule.private_batch),
        "attack_steps": schedule.dpal_attack_steps,
        "attack_size": schedule.construction / PAPER_UNIT,
        "noise": schedule.noise / PAPER_UNIT,
        "views": schedule.views if is_ours else 1,
        **({"learning_rate": schedule.dpal_rate} if system == "dpal" else {}),
    }
    names = set(known)
    return {name: value for name, value in options.items() if name in names}


def describe_privacy(model: "ImageModel", curve: str, epsilon: float | None) -> list[Row]:
    """Return what is claimed and proved of a model's privacy."""
    verdict = model.verdict
    if verdict is None:
        return []
    rows = rows_of(
        curve,
        epsilon,
        epsilon_claimed=verdict.claim,
        epsilon_at_least=verdict.lower_bound,
        privacy_proved=verdict.status.startswith("proved"),
        privacy_refuted=verdict.status == "refuted",
    )
    converted = model.facts.get("epsilon, replace one record")
    return rows if converted is None else [*rows, Row(curve, epsilon, "epsilon, replace one", float(converted))]


def measure_accuracy(images: "Images", model: "ImageModel", curve: str, epsilon: float | None, votes: int) -> list[Row]:
    """Return the accuracy without attack and under each one, at the sizes of the figures."""
    from studies.image_systems import measure_attacks, measure_clean

    schedule, data_set = getattr(images.context.sizes, images.name), DATA_SETS[images.name]
    own, draws = name_curve(images.name, curve), 1 if curve == SILENT else schedule.gradient_draws
    rows = [row_of(own, epsilon, "accuracy", measure_clean(images, model, votes, curve, epsilon))]
    settings = {"draws": draws, "pgd_steps": schedule.pgd_steps}
    sizes = schedule.attack_sizes if epsilon == data_set.tight else ()
    for size in dict.fromkeys((ATTACKED_AT, *sizes)):
        shares = measure_attacks(images, model, size, votes, settings, curve, epsilon)
        for attack, share in shares.items():
            if size == ATTACKED_AT:
                rows.append(row_of(own, epsilon, f"attacked, {attack}", share))
            if size in sizes:
                rows.append(row_of(own, size, f"by size, {attack}", share))
    return rows


def measure_certificates(images: "Images", model: "ImageModel", system: str) -> list[Row]:
    """Return certified accuracy under every attack as the paper counts, and what is proved of any attack."""
    from deniable.models.images.dataset import LabelledImages
    from studies.image_systems import measure_proved, measure_published_certificate

    schedule, curve = getattr(images.context.sizes, images.name), name_curve(images.name, system)
    count = schedule.certified_images
    some = LabelledImages(images.tested.pixels[:count], images.tested.labels[:count])
    certified = dataclasses.replace(images, tested=some)
    settings = {"draws": schedule.gradient_draws, "pgd_steps": schedule.pgd_steps}
    rows = []
    for size in schedule.attack_sizes:
        draws = (schedule.choosing, schedule.certified_draws)
        shares = measure_published_certificate(certified, model, size, draws, settings, system)
        rows += [row_of(curve, size, f"certified, {attack}", share) for attack, share in shares.items()]
    draws = (schedule.choosing, schedule.proved_draws)
    proved = measure_proved(certified, model, schedule.attack_sizes, draws, system)
    return [*rows, *(row_of(curve, size, "proved", share) for size, share in proved)]


def derive_rows(rows: Sequence[Row]) -> Iterable[Row]:
    """Yield by how much DPAL is ahead of each baseline on average over cases, and what attacks of growing size cost."""
    for name in DATA_SETS:
        for kind in ("attacked", "by size", "certified"):
            for other in (*BASELINES, "dp-cert"):
                gaps = list(_find_gaps(rows, name, kind, other))
                if gaps:
                    curve = name_curve(name, "dpal")
                    yield Row(curve, None, f"ahead of {other}, {kind}", sum(gaps) / len(gaps))
                    yield Row(curve, None, f"p-value against {other}, {kind}", compute_p_value(gaps))
        for system in TITLES:
            curve = name_curve(name, system)
            gaps = list(_find_epsilon_gaps(rows, curve))
            if gaps:
                yield Row(curve, None, "least epsilon ahead of largest", sum(gaps) / len(gaps))
                yield Row(curve, None, "p-value of least against largest epsilon", compute_p_value(gaps))
            places = [row for row in rows if (row.curve, row.metric) == (curve, f"by size, {FOUR}")]
            if places:
                values = [row.value for row in sorted(places, key=lambda row: row.x or 0.0)]
                yield Row(curve, None, "lost from least to largest attack", values[0] - values[-1])
                yield Row(curve, None, "mean over attack sizes", sum(values) / len(values))


def _find_gaps(rows: Sequence[Row], name: str, kind: str, other: str) -> Iterable[float]:
    """Yield DPAL's share less another's in every case of a figure: one attack at one place."""
    for row in rows:
        if row.curve == name_curve(name, "dpal") and row.metric.startswith(f"{kind}, ") and "mean" not in row.metric:
            theirs = find_row(rows, name_curve(name, other), row.x, row.metric)
            if theirs is not None:
                yield row.value - theirs.value


def _find_epsilon_gaps(rows: Sequence[Row], curve: str) -> Iterable[float]:
    """Yield a system's share at its least epsilon less that at its largest, for every attack."""
    own = [row for row in rows if row.curve == curve and row.metric.startswith("attacked, ")]
    epsilons = [row.x for row in own if row.x is not None]
    if epsilons and min(epsilons) < max(epsilons):
        for row in own:
            if row.x == min(epsilons) and "mean" not in row.metric:
                other = find_row(rows, curve, max(epsilons), row.metric)
                if other is not None:
                    yield row.value - other.value


def compute_p_value(differences: Sequence[float]) -> float:
    """Return the p-value of a two-sided t-test of paired cases by their differences; 1 where all of them are 0.

    As the paper tests its figures: cases are attacks, sizes and epsilons, and count as independent, though those of one
    training share its model and all share their images.
    """
    from scipy import stats

    if len(set(differences)) <= 1:
        return float(not any(differences))
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def build_cells(epsilons: dict[str, tuple[float, ...]]) -> tuple[tuple[str, str, float | None], ...]:
    """Return every system at every epsilon on every data set; one cell for a system without privacy."""
    return tuple(
        (name, system, epsilon)
        for name, own in epsilons.items()
        for system in SYSTEMS
        for epsilon in (own if system != "pixeldp" else (None,))
    )


def state_number(name: str, figure: int, system: str, x: float, percent: float, attacks: str = FOUR) -> Statement:
    """Return the statement that the text gives one number of a figure."""
    kind = ("attacked", "by size", "certified")[figure]
    axis = "epsilon" if figure == 0 else "mu_a"
    data_set = DATA_SETS[name]
    return Statement(
        f"{data_set.figures[figure]}, {attacks}: {TITLES[system]} has {percent:g}% at {axis} {x:g}.",
        at(name_curve(name, system), x, f"{kind}, {attacks}"),
        near(percent / 100, _NEAR),
    )


def state_gains(name: str, figure: int, points: dict[str, float]) -> Statement:
    """Return the statement that DPAL is ahead of baselines by so many points on average."""
    kind = ("attacked", "by size", "certified")[figure]
    theirs = ", ".join(f"{TITLES[system]} by {value:g}" for system, value in points.items())
    (first, *others) = (
        (at(name_curve(name, "dpal"), metric=f"ahead of {system}, {kind}"), near(value / 100, _NEAR))
        for system, value in points.items()
    )
    return Statement(
        f"{DATA_SETS[name].figures[figure]}: DPAL is ahead on average, of {theirs} points.",
        *first,
        also=tuple(others),
    )


def state_losses(name: str, points: dict[str, float]) -> Statement:
    """Return the statement that the largest attack costs so many points against the least one."""
    theirs = ", ".join(f"{TITLES[system]} {value:g}" for system, value in points.items())
    (first, *others) = (
        (at(name_curve(name, system), metric="lost from least to largest attack"), near(value / 100, _NEAR))
        for system, value in points.items()
    )
    return Statement(
        f"{DATA_SETS[name].figures[1]}: points lost from the least to the largest attack: {theirs}.",
        *first,
        also=tuple(others),
    )


STATEMENTS = (
    Statement(
        "DPAL preserves differential privacy of the training data with its total budget (Theorem 4).",
        at(tuple(name_curve(name, "dpal") for name in DATA_SETS), metric="privacy proved", label="DPAL, Algorithm 1"),
        near(1),
        is_universal=True,
    ),
    state_number("mnist", 0, "dpal", 0.2, 82.7),
    state_number("mnist", 0, "dpal", 2.0, 89.59),
    state_number("mnist", 0, "securesgd", 0.2, 41.64),
    state_number("mnist", 0, "securesgd", 2.0, 78.64),
    state_number("mnist", 0, "securesgd-agm", 0.2, 11.2),
    state_number("mnist", 0, "securesgd-agm", 2.0, 44.1),
    state_gains("mnist", 0, {"securesgd": 22.36, "securesgd-agm": 46.84, "adlm": 56.21, "dp-sgd": 77.26}),
    state_gains("mnist", 1, {"securesgd": 44.91, "securesgd-agm": 61.13, "adlm": 52.21, "dp-sgd": 62.20}),
    state_losses("mnist", {"dpal": 19.87, "adlm": 27.76, "dp-sgd": 29.79, "securesgd-agm": 34.14, "securesgd": 17.07}),
    state_number("mnist", 2, "dpal", 0.05, 84.29),
    state_number("mnist", 2, "dpal", 0.6, 72.41),
    state_number("mnist", 2, "pixeldp", 0.05, 94.19, THREE),
    state_number("mnist", 2, "pixeldp", 0.6, 9.08, THREE),
    state_number("mnist", 2, "pixeldp", 0.6, 77.47, "fgsm"),
    state_number("mnist", 2, "securesgd", 0.05, 86.74),
    state_number("mnist", 2, "securesgd", 0.6, 7.99),
    state_number("mnist", 2, "securesgd-agm", 0.05, 87.23),
    state_number("mnist", 2, "securesgd-agm", 0.6, 5.26),
    Statement(
        "Figure 6: PixelDP is ahead of DPAL up to mu_a 0.2, and DPAL of all others from 0.3 on.",
        at("mnist/pixeldp", (0.05, 0.1, 0.2), f"certified, {FOUR}"),
        above(at("mnist/dpal")),
        also=tuple(
            (at("mnist/dpal", (0.4, 0.6), f"certified, {FOUR}"), above(at(f"mnist/{system}")))
            for system in ("pixeldp", "securesgd", "securesgd-agm")
        ),
    ),
    state_number("cifar10", 0, "dpal", 2.0, 42.02),
    state_number("cifar10", 0, "dpal", 10.0, 46.76),
    state_gains("cifar10", 0, {"securesgd": 10.42, "securesgd-agm": 14.08, "adlm": 29.22, "dp-sgd": 14.62}),
    state_losses("cifar10", {"dpal": 4.79, "securesgd": 25.26}),
    state_gains("cifar10", 2, {"securesgd": 21.01}),
    Statement(
        "CIFAR-10: DPAL has 44.22% under attack on average at epsilon 2, which is still low.",
        at("cifar10/dpal", metric="mean over attack sizes"),
        near(0.4422, _NEAR),
    ),
)
QUESTIONS = (
    Statement(
        "Of every l_inf attack of the least size half of the images are proved, where a certified accuracy is read as "
        "one of l_inf attacks (Figures 6 and 7).",
        at(tuple(name_curve(name, system) for name in DATA_SETS for system in CERTIFIED), 0.05, "proved", "certified"),
        above(0.5),
    ),
)

_LOOKS = {
    "dp-cert": ("-o", 0),
    "dpal": ("-s", 2),
    SILENT: ("--s", 2),
    "securesgd": ("-D", 3),
    "securesgd-agm": ("--v", 3),
    "pixeldp": ("-P", 4),
    "dp-sgd": ("-^", 1),
    "dp-sgd-batch-clipped": (":x", 1),
    "adlm": ("-<", 5),
}
_PERCENT = (0.0, 100.0)


def draw_panel(name: str, title: str, metric: str, x: Axis) -> Panel:
    """Return by one metric all systems of which it is measured."""
    is_certified = metric.startswith(("certified", "proved"))
    lines = tuple(
        Line(name_curve(name, system), metric, style, colour, title_of)
        for (system, (style, colour)), title_of in zip(_LOOKS.items(), TITLES.values(), strict=True)
        if (system in CERTIFIED if is_certified else system != "pixeldp")
    )
    return Panel(title, lines, x, Axis("accuracy, %", limits=_PERCENT), (Reference(10),))


def draw_data_set(name: str) -> tuple[Panel, ...]:
    """Return the panels of one data set."""
    data_set = DATA_SETS[name]
    first, second, third = data_set.figures
    size = Axis("attack size mu_a")
    tiny = Axis("l_inf size", log=10, limits=(8e-4, 1.0), ticks=((8e-4, "0"), 0.01, 0.1, 1))
    return (
        draw_panel(
            name, f"{first}, {data_set.title}: attacks of {ATTACKED_AT:g}", f"attacked, {FOUR}", Axis("epsilon claimed")
        ),
        draw_panel(name, f"{second}: epsilon {data_set.tight:g}, mean of four attacks", f"by size, {FOUR}", size),
        draw_panel(name, f"{data_set.title}, without attack", "accuracy", Axis("epsilon claimed")),
        draw_panel(name, f"{third}: certified as the paper counts", f"certified, {FOUR}", size),
        draw_panel(name, "Proved against every attack", "proved", tiny),
    )


KINDS = ("attacked", "by size", "certified")
CURVES = {
    name_curve(name, system): f"{title}, {data_set.title}"
    for name, data_set in DATA_SETS.items()
    for system, title in TITLES.items()
}
QUICK = Schedule(
    attack_sizes=(0.1, 0.4), train=1_200, images=40, gradient_draws=1, votes=4, dpal_votes=8, pgd_steps=5,
    private_steps=8, private_batch=1_200, views=1, dpal_steps=12, dpal_attack_steps=1, dpal_batch=600, adlm_steps=20,
    adlm_batch=100, pixeldp_steps=60, width=0.25, certified_images=10, certified_draws=60, proved_draws=100,
)  # fmt: skip
"""A few seconds a model: enough to see that everything runs, not to compare systems. DP-SGD takes every image in every
step, for which accounting takes no time.
"""

STUDY = Study(
    name="dpal",
    title="DPAL and its baselines",
    citation="NhatHai Phan and others (2020), *Differential Privacy in Adversarial Learning with Provable Robustness*, "
    "under review at ICLR, Figures 2 to 7.",
    question="Accuracy under attack, and certified accuracy, of DPAL, its baselines and what replaces them: how much "
    "is there, and what of it is proved?",
    picture="For each data set accuracy against epsilon, accuracy against attack size, accuracy without attack, "
    "certified accuracy as the paper counts it, and what is proved of every attack.",
    full=Grid(
        build_cells({"mnist": (0.2, 0.5, 1.0, 2.0), "cifar10": (2.0, 4.0, 10.0)}),
        Sizes(
            Schedule(),
            Schedule(
                attack_sizes=(0.05, 0.1, 0.2, 0.3, 0.5), views=1, dpal_steps=80, dpal_batch=1_851, adlm_steps=100,
                adlm_batch=1_851, width=0.25,
            ),
        ),
    ),
    quick=Grid(
        build_cells({"mnist": (0.2, 1.0), "cifar10": (2.0,)}),
        Sizes(QUICK, dataclasses.replace(QUICK, attack_sizes=(0.05, 0.2), width=0.125)),
    ),
    measure=measure,
    derive=derive_rows,
    curves=CURVES,
    metrics={
        "epsilon claimed": Metric("epsilon claimed", ".3g"),
        "epsilon at least": Metric("epsilon at least", ".3g"),
        "epsilon, replace one": Metric("epsilon, replace one", ".3g"),
        "privacy proved": Metric("privacy proved (ideal arithmetic)", ".0f"),
        "privacy refuted": Metric("privacy refuted", ".0f"),
        "accuracy": Metric("accuracy without attack", ".1%"),
        "proved": Metric("proved right under every attack", ".1%"),
        **{
            f"{kind}, {attack}": Metric(f"{word}, {attack}", ".1%")
            for kind, word in zip(KINDS, ("accuracy attacked", "accuracy by attack size", "certified"), strict=True)
            for attack in ("i-fgsm", "fgsm", "mim", "pgd", FOUR, THREE)
        },
        **{
            f"ahead of {other}, {kind}": Metric(f"ahead of {TITLES[other]} ({kind})", ".1%")
            for kind in KINDS
            for other in (*BASELINES, "dp-cert")
        },
        **{
            f"p-value against {other}, {kind}": Metric(f"p against {TITLES[other]} ({kind})", ".2g")
            for kind in KINDS
            for other in (*BASELINES, "dp-cert")
        },
        "least epsilon ahead of largest": Metric("ahead at the least epsilon, of the largest", ".1%"),
        "p-value of least against largest epsilon": Metric("p, by the paper's test", ".2g"),
        "lost from least to largest attack": Metric("lost from the least to the largest attack", ".1%"),
        "mean over attack sizes": Metric("mean over attack sizes", ".1%"),
    },
    statements=STATEMENTS,
    questions=QUESTIONS,
    panels=tuple(panel for row in zip(*map(draw_data_set, DATA_SETS), strict=True) for panel in row),
    tables=(
        Table(
            "Every model",
            ("epsilon at least", "epsilon, replace one", "privacy proved", "privacy refuted", "accuracy",
             f"attacked, {FOUR}"),
            x="epsilon",
        ),
        Table(
            "How far DPAL is ahead, in points, and p as the paper computes it",
            tuple(
                f"{word} {other}, attacked" for other in BASELINES for word in ("ahead of", "p-value against")
            ),
            tuple(name_curve(name, "dpal") for name in DATA_SETS),
        ),
        Table(
            "What the same test says of one system at two epsilons, under attacks of 0.2",
            ("least epsilon ahead of largest", "p-value of least against largest epsilon"),
            tuple(name_curve("mnist", system) for system in (*SYSTEMS, SILENT) if system != "pixeldp"),
        ),
        Table("Accuracy by attack size, mean of four attacks", (f"by size, {FOUR}",), across=True),
        Table("Certified as the paper counts, mean of four attacks", (f"certified, {FOUR}",), across=True),
        Table("Proved, by l_inf size", ("proved",), across=True),
    ),
    files=tuple(data_set.file for data_set in DATA_SETS.values()),
    packages=("torch", "dp_accounting"),
)  # fmt: skip
