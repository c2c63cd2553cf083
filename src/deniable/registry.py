"""Everything that is chosen by name: kind -> name -> "module:object", and the names that other packages add.

An object is imported when it is first asked for, so that help and completion list names without it. Another package
adds a name by an entry point of its kind's group, and nothing here changes::

    [project.entry-points."deniable.mechanisms"]
    my-mechanism = "my_package.words:MyMechanism"
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deniable.core.errors import InputError, make_parameter_error

if TYPE_CHECKING:
    from deniable.models.images.model import ImageModel
    from deniable.models.images.training import ImageTrainer
    from deniable.models.text.model import TextPredictor
    from deniable.published.entry import ZooEntry
    from deniable.rewriting.methods import RewritingMethod
    from deniable.rewriting.model import Rewriter
    from deniable.space import Space
    from deniable.vectors import VectorMechanism
    from deniable.words import WordMechanism

Named = TypeVar("Named")

_NAME = re.compile("[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_CHOICES = ("auto", "best")
"""Names that stand for a choice among mechanisms."""


class Registry(Mapping[str, Named]):
    """Objects of one kind by name, in the order in which help lists them: those of this package, then others.

    Args:
        kind: of the objects; other packages add to the group ``deniable.<kind>``.
        targets: name -> "module:object".

    Raises:
        InputError: when it is first read, if a name is taken or is not written as names are on the command line; when
            an object is read, if it calls itself otherwise.
    """

    def __init__(self, kind: str, targets: dict[str, str]) -> None:
        self._group, self._targets = f"deniable.{kind}", targets

    @functools.cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        entries = {name: EntryPoint(name, target, self._group) for name, target in self._targets.items()}
        for entry in entry_points(group=self._group):
            subject = f"The name {entry.name!r} of {entry.value}, an entry point of {self._group},"
            if _NAME.fullmatch(entry.name) is None:
                raise InputError(f'{subject} must be lower-case words joined by hyphens: "my-mechanism".')
            if entry.name in (*_CHOICES, *entries):  # of two with one name, one would pass for the other
                raise InputError(f"{subject} is taken: choose another, or uninstall its package.")
            entries[entry.name] = entry
        return entries

    def __getitem__(self, name: str) -> Named:
        """Return the object of a name, imported now."""
        found: Named = self._entries[name].load()
        own_name = getattr(found, "name", name)
        if isinstance(own_name, str) and own_name != name:
            raise InputError(f"The name {name!r} must be that of {self._entries[name].value}, which is {own_name!r}.")
        return found

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._entries)


WORD_MECHANISMS: Registry[type["WordMechanism"]] = Registry(
    "mechanisms",
    {
        "calibrated": "deniable.words.calibrated_exponential:CalibratedExponential",
        "tight": "deniable.words.tight_exponential:TightExponential",
        "tem": "deniable.words.tem:TEM",
        "multivariate-laplace": "deniable.words.multivariate_laplace:MultivariateLaplace",
        "truncated-gumbel": "deniable.published.truncated_gumbel.mechanism:TruncatedGumbel",
    },
)
"""Every word mechanism, also the published ones whose claims are not proved."""

VECTOR_MECHANISMS: Registry[Callable[..., "VectorMechanism"]] = Registry(
    "vectors",
    {
        "laplace": "deniable.published.controls:LAPLACE",
        "gaussian": "deniable.published.controls:GAUSSIAN",
        "k-norm": "deniable.published.controls:K_NORM",
        "adept": "deniable.published.adept.mechanism:ADePT",
        "adept-l1": "deniable.published.controls:ADEPT_L1",
        "adept-true": "deniable.published.controls:ADEPT_TRUE",
        "adept-gaussian": "deniable.published.controls:ADEPT_GAUSSIAN",
        "adept-norm": "deniable.published.controls:ADEPT_NORM",
        "dptext": "deniable.published.dptext.mechanism:DPText",
        "dptext-fixed": "deniable.published.controls:LAPLACE",
        "dptext-norm": "deniable.published.controls:K_NORM",
        "copy": "deniable.published.controls:CopyMechanism",
        "random": "deniable.published.controls:RandomMechanism",
    },
)
"""Every vector mechanism on a domain of its own. All take epsilon, but for ``random``; the Gaussian ones take delta.
``adept-...`` and ``dptext-...`` are the remedies of the published mechanisms."""

REWRITING_METHODS: Registry[Callable[..., "RewritingMethod"]] = Registry(
    "methods",
    {
        "adept-gaussian": "deniable.rewriting.methods:make_gaussian_ball_method",
        "adept-l1": "deniable.rewriting.methods:make_l1_ball_method",
        "adept-norm": "deniable.rewriting.methods:make_l2_norm_method",
        "adept-true": "deniable.rewriting.methods:make_l2_ball_method",
        "dptext-fixed": "deniable.rewriting.methods:make_box_method",
        "dptext-norm": "deniable.rewriting.methods:make_box_norm_method",
        "tokens": "deniable.rewriting.token_method:TokenMethod",
        "tokens-mixed": "deniable.rewriting.token_method:make_mixed_token_method",
        "adept": "deniable.published.adept.texts:make_adept_method",
        "dptext": "deniable.published.dptext.method:make_dptext_method",
    },
)
"""Every rewriting method, proved ones first. All take a `Rewriter` and ``epsilon``, and ``seed`` for tests; some take
``delta`` or ``max_draws``."""

REFUTED_METHODS = ("adept", "dptext")
"""Published rewriting methods whose guarantees are refuted: commands release texts by them only when asked twice."""

IMAGE_TRAINERS: Registry["ImageTrainer"] = Registry(
    "trainers",
    {
        "dp-sgd": "deniable.models.images.private_training:DP_SGD_TRAINER",
        "dp-cert": "deniable.models.images.private_training:DP_CERT_TRAINER",
        "dp-ibp": "deniable.models.images.interval_training:DP_IBP_TRAINER",
        "dp-adversarial": "deniable.models.images.private_training:DP_ADVERSARIAL_TRAINER",
        "pixeldp": "deniable.models.images.plain_training:PIXELDP_TRAINER",
        "securesgd": "deniable.published.securesgd.trainers:SECURESGD_TRAINER",
        "securesgd-agm": "deniable.models.images.private_training:SECURESGD_AGM_TRAINER",
        "adlm": "deniable.published.adlm:ADLM_TRAINER",
        "dpal": "deniable.published.dpal.trainer:DPAL_TRAINER",
        "dp-sgd-batch-clipped": "deniable.published.securesgd.trainers:BATCH_CLIPPED_TRAINER",
        "ibp": "deniable.models.images.interval_training:IBP_TRAINER",
        "adversarial": "deniable.models.images.plain_training:ADVERSARIAL_TRAINER",
        "plain": "deniable.models.images.plain_training:PLAIN_TRAINER",
    },
)
"""Every way to train an image classifier, also the published ones whose claims are false or unproved."""

ZOOS: dict[str, Registry[tuple["ZooEntry", ...]]] = {
    "mechanisms": Registry(
        "zoo.mechanisms",
        {
            "adept": "deniable.published.adept.mechanism:ENTRIES",
            "dptext": "deniable.published.dptext.mechanism:ENTRIES",
            "truncated-gumbel": "deniable.published.truncated_gumbel.zoo:ENTRIES",
            "packages": "deniable.published.packages:ENTRIES",
            "sensitive-vectors": "deniable.published.sensitive_vectors:ENTRIES",
            "controls": "deniable.published.controls:ENTRIES",
            "dpal": "deniable.published.dpal.zoo:ENTRIES",
            "adept-texts": "deniable.published.adept.texts:ENTRIES",
        },
    ),
    "trainers": Registry(
        "zoo.trainers",
        {
            "sampling": "deniable.published.trainers.sampling:ENTRIES",
            "sums": "deniable.published.trainers.sums:ENTRIES",
            "data": "deniable.published.trainers.data:ENTRIES",
            "noise": "deniable.published.trainers.noise:ENTRIES",
        },
    ),
    "samplers": Registry(
        "zoo.samplers",
        {
            "prediction": "deniable.published.samplers.prediction:ENTRIES",
            "fusion": "deniable.published.samplers.fusion:ENTRIES",
            "rewriting": "deniable.published.samplers.rewriting:ENTRIES",
        },
    ),
}
"""Claims that are known to be false, each with its evidence, and correct ones: entries by what they have in common."""


def mechanism(name: str, space: "Space", *, epsilon: float) -> "WordMechanism":
    """Return the word mechanism of a name.

    Args:
        name: a name from `WORD_MECHANISMS`, or ``auto``; see `choose_word_mechanism`.
        space: the words, with vectors and a metric.
        epsilon: privacy parameter per unit of distance, > 0.

    Raises:
        InputError: an unknown name, or an epsilon or a space that does not suit the mechanism.
    """
    from deniable.measure.choice import AUTO, choose_word_mechanism
    from deniable.space import Space

    if not isinstance(name, str):
        raise make_parameter_error("mechanism", "name", f"one of {', '.join([AUTO, *WORD_MECHANISMS])}", name)
    if not isinstance(space, Space):
        raise make_parameter_error("mechanism", "space", "a Space, such as Space.glove()", space)
    if name == AUTO:
        return choose_word_mechanism(space, epsilon)
    if name not in WORD_MECHANISMS:
        raise InputError(f"Unknown mechanism {name!r}. Known: {', '.join([AUTO, *WORD_MECHANISMS])}.")
    return WORD_MECHANISMS[name](space, epsilon=epsilon)


def rewriting_method(name: str, model: "Rewriter", *, epsilon: float, **options: Any) -> "RewritingMethod":  # noqa: ANN401
    """Return a rewriting method by its name.

    Args:
        name: one of `REWRITING_METHODS`.
        model: that encodes and decodes texts.
        epsilon: per text, > 0.
        **options: ``delta``, ``max_draws`` or ``seed``, as the method takes them.

    Raises:
        InputError: no such method, or it does not take these numbers.
    """
    if name not in REWRITING_METHODS:
        raise make_parameter_error("rewriting_method", "name", f"one of {', '.join(REWRITING_METHODS)}", name)
    return REWRITING_METHODS[name](model, epsilon=epsilon, **options)


def list_methods_with(option: str) -> list[str]:
    """Return the names of the rewriting methods that take an option, such as ``delta``, in alphabetical order."""
    return sorted(name for name, make in REWRITING_METHODS.items() if option in inspect.signature(make).parameters)


def check_not_refuted(method: str | None, *, allow_refuted: bool) -> None:
    """Refuse a rewriting method whose guarantee is refuted.

    Raises:
        InputError: it is, and that is not allowed.
    """
    if method in REFUTED_METHODS and not allow_refuted:
        raise InputError(
            f"The guarantee of the method {method!r} is refuted: choose another --method, or give --allow-refuted to "
            "use it all the same."
        )


def check_method_options(name: str, *, delta: float | None = None, max_draws: int | None = None) -> dict[str, float]:
    """Return the options of a rewriting method that were given, before any model is read.

    Args:
        name: of a method.
        delta: None for not given.
        max_draws: the same.

    Raises:
        InputError: the method lacks one, or does not take it.
    """
    with_delta, with_draws = list_methods_with("delta"), list_methods_with("max_draws")
    if name in with_delta and delta is None:
        raise InputError(f"The method {name!r} needs a delta: give one in (0, 1), for example 1e-5.")
    if name not in with_delta and delta is not None:
        raise InputError(f"The method {name!r} has no delta: leave it out, or choose {' or '.join(with_delta)}.")
    if name not in with_draws and max_draws is not None:
        choices = " or ".join(with_draws)
        raise InputError(f"The method {name!r} draws no tokens: leave their number out, or choose {choices}.")
    return {key: value for key, value in (("delta", delta), ("max_draws", max_draws)) if value is not None}


def load_image_model(path: str | Path) -> "ImageModel":
    """Read an image model, whatever certificate it has.

    Raises:
        InputError: no such file, it is not an image model, or it is damaged.
    """
    from deniable.learning.artifact import read_artifact
    from deniable.models.images.model import IMAGE_MODEL_KIND, restore_image_model
    from deniable.published.dpal import certificate as _dpal  # noqa: F401 - each adds its certificate to those known
    from deniable.published.securesgd import certificate as _securesgd  # noqa: F401 - the same

    return restore_image_model(read_artifact(path, IMAGE_MODEL_KIND))


def load_text_predictor(path: Path, load_space: Callable[[], "Space"]) -> "TextPredictor":
    """Read a model that classifies texts, of whatever kind.

    Args:
        path: of the file.
        load_space: gives the space that a text model was trained on; called for kinds that need one.

    Raises:
        InputError: no such file, it is not a model of texts, it is damaged, or it was trained on another space.
    """
    from deniable.learning.artifact import read_artifact
    from deniable.models.text.model import TEXT_MODEL_KIND, SpacePredictor, restore_text_model
    from deniable.persons.classifier import LINEAR_CLASSIFIER_KIND, restore_linear_classifier

    artifact = read_artifact(path)
    if artifact.kind == TEXT_MODEL_KIND:
        space = load_space()
        return SpacePredictor(restore_text_model(artifact, space), space)
    if artifact.kind == LINEAR_CLASSIFIER_KIND:
        return restore_linear_classifier(artifact)
    raise InputError(
        f"{str(path)!r} holds a model of the kind {artifact.kind[:50]!r}, which does not classify texts: name the file "
        f"of a model of the kind {TEXT_MODEL_KIND!r} or {LINEAR_CLASSIFIER_KIND!r}."
    )
