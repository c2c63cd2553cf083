"""What options offer by name, so that help and shell completion list it without loading what the names stand for.

Word mechanisms are read from their registry. Every other enumeration repeats the names of its registry: a test compares
them, and a new method or trainer is one more line here.
"""

import enum

from deniable.registry.names import read_word_mechanism_names

_WORD_MECHANISMS = {name.upper().replace("-", "_"): name for name in read_word_mechanism_names()}
"""Members of an enumeration: the names that its class body gets beside those written there."""


class MechanismName(enum.StrEnum):
    """Word mechanisms: ``auto``, and those of `deniable.registry.word_mechanisms`."""

    AUTO = "auto"
    vars().update(_WORD_MECHANISMS)


class TunedMechanismName(enum.StrEnum):
    """Word mechanisms that can be tuned: those of `MechanismName`, and the best of several."""

    AUTO = "auto"
    BEST = "best"
    vars().update(_WORD_MECHANISMS)


class GuessedWordsName(enum.StrEnum):
    """Whose words an attacker's success is about, for ``tune``."""

    AVERAGE = "average"
    RARE = "rare"
    EVERY = "every"


class VerifiedMechanismName(enum.StrEnum):
    """Mechanisms that `deniable.verify` takes: word mechanisms, then vector mechanisms."""

    AUTO = "auto"
    vars().update(_WORD_MECHANISMS)
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    ADEPT = "adept"
    ADEPT_L1 = "adept-l1"
    ADEPT_TRUE = "adept-true"
    ADEPT_GAUSSIAN = "adept-gaussian"
    DPTEXT = "dptext"
    DPTEXT_FIXED = "dptext-fixed"
    COPY = "copy"
    RANDOM = "random"


class MetricName(enum.StrEnum):
    """Distances between words: those of `deniable.space.metrics.METRICS`."""

    STEPS = "steps"
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"
    CHEBYSHEV = "chebyshev"
    ANGULAR = "angular"


class NeedName(enum.StrEnum):
    """What is needed of a table: those of `deniable.comparison.recommendation.Need`."""

    TEXTS = "texts"
    CLASSIFIER = "classifier"


class UnknownWordHandling(enum.StrEnum):
    """What becomes of words outside the vocabulary."""

    DRAW = "draw"
    MASK = "mask"
    DROP = "drop"


class CaseHandling(enum.StrEnum):
    """What becomes of capitals."""

    LOWER = "lower"
    COPY = "copy"


class OverBudgetHandling(enum.StrEnum):
    """What becomes of rows that a ledger's budget does not cover: those of `deniable.text.row_release.OverBudget`."""

    REFUSE = "refuse"
    DROP = "drop"


class EscapesName(enum.StrEnum):
    """How texts are escaped: those of `deniable.text.escapes.Escapes`."""

    HTML = "html"


class RewritingMethodName(enum.StrEnum):
    """Rewriting methods: those of `deniable.registry.methods.REWRITING_METHODS`."""

    ADEPT_GAUSSIAN = "adept-gaussian"
    ADEPT_L1 = "adept-l1"
    ADEPT_TRUE = "adept-true"
    DPTEXT_FIXED = "dptext-fixed"
    TOKENS = "tokens"
    TOKENS_MIXED = "tokens-mixed"
    ADEPT = "adept"
    DPTEXT = "dptext"


class TrainableMethodName(enum.StrEnum):
    """Rewriting methods that add noise to a vector, through which a rewriter can be trained."""

    ADEPT = "adept"
    ADEPT_L1 = "adept-l1"
    ADEPT_TRUE = "adept-true"
    ADEPT_GAUSSIAN = "adept-gaussian"
    DPTEXT_FIXED = "dptext-fixed"


class ClassifierName(enum.StrEnum):
    """Classifiers that measure utility: those of `deniable.measure.classifiers.CLASSIFIERS`."""

    TFIDF = "tfidf"
    FASTTEXT = "fasttext"


class ImageKind(enum.StrEnum):
    """Kinds of image models: those of `deniable.registry.trainers.IMAGE_TRAINERS`."""

    DP_SGD = "dp-sgd"
    DP_CERT = "dp-cert"
    DP_ADVERSARIAL = "dp-adversarial"
    PIXELDP = "pixeldp"
    SECURESGD = "securesgd"
    SECURESGD_AGM = "securesgd-agm"
    ADLM = "adlm"
    DPAL = "dpal"
    DP_SGD_BATCH_CLIPPED = "dp-sgd-batch-clipped"
    ADVERSARIAL = "adversarial"
    PLAIN = "plain"


class NetworkName(enum.StrEnum):
    """Architectures of image models: those of `deniable.models.images.networks.IMAGE_NETWORKS`."""

    SMALL = "small"
    PAPER_MNIST = "paper-mnist"
    PAPER_CIFAR10 = "paper-cifar10"


class TextKind(enum.StrEnum):
    """Kinds of text classifiers: the private ones, and those of `deniable.models.text.networks.TEXT_NETWORKS`."""

    DP_LINEAR = "dp-linear"
    DP_FASTTEXT = "dp-fasttext"
    CNN = "cnn"
    BOW = "bow"
    FASTTEXT = "fasttext"
    ATTENTION = "attention"


class GeneratorChoice(enum.StrEnum):
    """How synthetic texts are written: those of `deniable.persons.synthesis.GeneratorName`."""

    TILTED = "tilted"
    RECOMBINED = "recombined"
    CANDIDATES = "candidates"
    COUNTS = "counts"


class TextTraining(enum.StrEnum):
    """Ways to train a text classifier: `deniable.models.text.training.TEXT_TRAINING_METHODS`."""

    NORMAL = "normal"
    IBP = "ibp"
    AUGMENTED = "augmented"


class NoiseLaw(enum.StrEnum):
    """Laws of the noise that smooths a deterministic image model."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


class SearchName(enum.StrEnum):
    """Search algorithms of attacks on text classifiers: those of `deniable.models.text.attacks.TEXT_ATTACKS`."""

    GENETIC = "genetic"
    GREEDY = "greedy"
    RESAMPLING = "resampling"


class TrainingMethodName(enum.StrEnum):
    """Audits of training: those of `deniable.auditing.training.audit.TrainingMethod`."""

    AUTO = "auto"
    ONE_RUN = "one-run"
    LOSSES = "losses"
    WORST_CASE = "worst-case"


class TrainingNoiseName(enum.StrEnum):
    """What a claim of training rests on: those of `deniable.auditing.games.NoiseKind`."""

    ANY = "any"
    GAUSSIAN = "gaussian"


class ZooName(enum.StrEnum):
    """Collections of claims that are known to be false or true, of `deniable.registry.zoo`."""

    MECHANISMS = "mechanisms"
    TRAINERS = "trainers"


class GameName(enum.StrEnum):
    """Guessing games of audits: `deniable.auditing.black_box.AuditMethod`."""

    AUTO = "auto"
    COIN = "coin"
    POOLED = "pooled"
    PRECISION = "precision"
    ANYTIME = "anytime"
