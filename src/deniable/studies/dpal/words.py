"""The statements of the paper beside the results, and the findings."""

import dataclasses

from deniable.studies.study import Comparison, Data, Outcome

NOISES = {
    "published": "drawn once",
    "each step": "drawn in each step",
    "each step and class": "drawn in each step for each class",
}
"""How label noise is drawn, in words."""


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One experiment against one claim.

    Attributes:
        name: in the figure.
        claim: epsilon claimed.
        bound: lower confidence bound on epsilon.
        control: the same with independent noise; None where the experiment has independent noise itself.
        exact: the true epsilon where the law gives it.
    """

    name: str
    claim: float
    bound: float
    control: float | None
    exact: float | None = None


def evidence(data: Data) -> tuple[Evidence, ...]:
    """Return the experiments that bound an epsilon."""
    differences, recovery, parameters = data["differences"], data["recovery"], data["parameters"]
    labels = drawn_labels(data)
    law = data["sensitivity"]
    # The control of the first layer is in float64, where an attacker sees more.
    rows = [
        ("differences of two images", differences["shared"], differences["independent"]),
        ("images of a batch recovered", recovery["shared"], recovery["independent"]),
        ("first layer after one step", parameters["float64"]["ratio"], parameters["independent"]["ratio"]),
        ("first layer, in float32", parameters["float32"]["projected"], parameters["independent"]["projected"]),
        ("labels from 12 steps", labels["published", "steps"], labels["each step and class", "steps"]),
    ]
    found = [Evidence(name, ours["claim"], ours["bound"], theirs["bound"]) for name, ours, theirs in rows]
    last = Evidence(
        "independent noise,\nblack image or white", law["claim"], law["likelier"]["bound"], None, law["epsilon"]
    )
    return (*found, last)


def true_labels(data: Data) -> list[Data]:
    """Return the runs with the true labels."""
    return [run for run in data["labels"]["runs"] if not run["drawn"]]


def drawn_labels(data: Data) -> dict[tuple[str, str], Data]:
    """Return the runs with labels drawn at random, by noise and differences."""
    return {(run["noise"], run["over"]): run for run in data["labels"]["runs"] if run["drawn"]}


def chance(data: Data) -> float:
    """Return the share that a guess gets: one of the classes, each of which is among the pictures."""
    return 1 / len(data["recovery"]["pictures"]["original"])


def table(data: Data) -> tuple[Comparison, ...]:
    """Return the paper's statements and ours."""
    return (_release(data), _batch(data), _lipschitz(data), _layer(data), _target(data), _accuracy(data))


def _release(data: Data) -> Comparison:
    ours, control = data["differences"]["shared"], data["differences"]["independent"]
    return Comparison(
        f"The perturbed images x-bar are (eps1/gamma_x)-private (Lemma 3): epsilon {ours['claim']:.3g} of a total of "
        f"{data['budget']['eps_t']:g}.",
        f"All images share one noise vector, so that x-bar_i - x-bar_j = x_i - x_j: the difference was found in "
        f"{_of(ours['hits'], ours['trials'])} releases with image i in the data and in "
        f"{_of(ours['false_hits'], ours['false_trials'])} with another in its place, epsilon at least "
        f"{ours['bound']:.2f}. With independent noise {_of(control['hits'], control['trials'])}, at least "
        f"{control['bound']:.2g}. By law the epsilon is infinite; the bound is limited by the number of releases.",
        _outcome(ours),
    )


def _batch(data: Data) -> Comparison:
    ours, control = data["recovery"]["shared"], data["recovery"]["independent"]
    return Comparison(
        "A batch of perturbed images is private, and what is computed of it is post-processing (Lemma 3, Theorem 4).",
        f"Whoever sees a batch of {ours['images']:,} perturbed images, and knows none of them, subtracts their "
        f"pixelwise minimum: {_of(ours['same'], ours['images'])} images recovered, largest error of a pixel "
        f"{ours['largest error']:.1g} (float64). With independent noise {_of(control['same'], control['images'])}.",
        _outcome(ours),
    )


def _lipschitz(data: Data) -> Comparison:
    law = data["sensitivity"]
    seen = law["likelier"]
    return Comparison(
        f"Noise of scale Delta_R/(eps1 m) = {law['scale']:.1f} gives epsilon {law['claim']:.3g}, by a sensitivity of "
        f"{law['used']:g} (proof of Lemma 3).",
        f"That is a Lipschitz constant. The l1 sensitivity when one image is replaced is 2 d = {law['l1']:,.0f}: even "
        f"independent noise of this scale is {law['epsilon']:.3g}-private and no better, or "
        f"({law['at_delta']:.3g}, {law['delta']:g})-private. A black image and a white one: at least "
        f"{seen['bound']:.2f} from {seen['trials']:,} releases of each.",
        _outcome(seen),
    )


def _layer(data: Data) -> Comparison:
    fine, coarse, control = (data["parameters"][kind] for kind in ("float64", "float32", "independent"))
    return Comparison(
        "Optimising Eq. 7 is (eps1/gamma_x + eps1)-private in theta1 (Theorem 1): epsilon "
        f"{fine['ratio']['claim']:.3g}.",
        "Neighbouring batches are told apart by theta1 after one step on either: in "
        f"{_right(fine['ratio'])} runs by the ratio of singular values in float64 (at least "
        f"{fine['ratio']['bound']:.2f}); in {_right(coarse['projected'])} by a projection in float32 (at least "
        f"{coarse['projected']['bound']:.2f}), where rounding hides the ratio ({_right(coarse['ratio'])}). With "
        f"independent noise {_right(control['ratio'])} and {_right(control['projected'])}.",
        _outcome(fine["ratio"]),
    )


def _target(data: Data) -> Comparison:
    drawn = drawn_labels(data)["published", "steps"]
    shown = "; ".join(
        f"noise {NOISES[run['noise']]}, differences over {run['over']}: {_of(run['right'], run['count'])}"
        for run in true_labels(data)
    )
    return Comparison(
        f"Labels are eps2-private (Lemma 4, Theorem 3): epsilon {drawn['claim']:g}.",
        f"Labels that solve the linear equations of 12 steps: {shown}. With labels drawn at random "
        f"{_of(drawn['right'], drawn['count'])}, at least {drawn['bound']:.2f} from one run.",
        _outcome(drawn),
    )


def _accuracy(data: Data) -> Comparison:
    plain, shared, fresh, independent = (
        100 * data["utility"][name]["value"] for name in ("plain", "shared", "fresh", "independent")
    )
    return Comparison(
        "Utility is high under a tight privacy budget (section 4: 82.7 % under attack at epsilon 0.2).",
        f"A network of one hidden layer on x-bar, without attack: {shared:.1f} % with the noise that it was trained "
        f"with ({plain:.1f} % without noise), {fresh:.1f} % with a new draw of it, {independent:.1f} % where the noise "
        "is independent for each image. High, but not under that budget.",
        "agrees in part",
    )


def findings(data: Data) -> tuple[str, ...]:
    """Return the lines to read first."""
    ours, drawn, law = data["recovery"]["shared"], drawn_labels(data)["published", "steps"], data["sensitivity"]
    truth, pair = true_labels(data)[0], data["differences"]["shared"]
    fine, coarse = data["parameters"]["float64"]["ratio"], data["parameters"]["float32"]["projected"]
    shared, independent = (100 * data["utility"][kind]["value"] for kind in ("shared", "independent"))
    images, labels = _of(ours["same"], ours["images"]), _of(truth["right"], truth["count"])
    guessed = _of(drawn["right"], drawn["count"])
    lines = [
        (
            f"all images share one noise vector: {images} of a batch are recovered from their perturbed forms alone, "
            f"largest error of a pixel {ours['largest error']:.1g}"
        ),
        (
            "differences of perturbed images are those of the images: epsilon at least "
            f"{pair['bound']:.2f} (95 % each) where {pair['claim']:.3g} is claimed"
        ),
        (
            f"the first layer after one step tells neighbouring batches apart in {_right(fine)} runs (float32: "
            f"{_right(coarse)}): epsilon at least {fine['bound']:.2f} where {fine['claim']:.3g} is claimed"
        ),
        (
            f"{labels} labels are recovered from 12 steps, of labels drawn at random {guessed}: "
            f"epsilon at least {drawn['bound']:.2f} where {drawn['claim']:g} is claimed"
        ),
        (
            f"independent noise of the same scale has epsilon {law['epsilon']:.3g}, or {law['at_delta']:.3g} at delta "
            f"{law['delta']:g}: Lemma 3 takes a Lipschitz constant for the sensitivity"
        ),
        (
            f"accuracy is {shared:.1f} % with the shared noise and {independent:.1f} % with independent noise: it "
            "comes from what is shared"
        ),
        "we found no published refutation of DPAL: this command and its seed show the numbers",
    ]
    return tuple(lines)


def _outcome(found: Data) -> Outcome:
    """Say whether a lower bound lets a claim stand; that it does is no agreement, but no more could be seen."""
    return "does not agree" if found["bound"] > found["claim"] else "agrees in part"


def _of(count: int, total: int) -> str:
    return f"{count:,} of {total:,}"


def _right(event: Data) -> str:
    """Return how many runs were told apart."""
    return _of(event["hits"] + event["false_trials"] - event["false_hits"], event["trials"] + event["false_trials"])
