"""The reference of Python names: one page an area, whose entries mkdocstrings fills in when the site is built.

Every public name of ``deniable`` and of its facades is in one area of ``AREAS``: who adds a name has to say where a
reader looks for it.
"""

import dataclasses
import importlib
from collections.abc import Iterator

from .markdown import make_table

FACADES = ("measure", "tune", "texts", "images", "rewriting", "laws", "published.adept", "published.dptext")
"""Modules whose public names are documented too, as ``dn.measure.measure_recovery``."""
HOSTS = (
    "engines.spark.privatize_dataframe",
    "engines.ray.privatize_dataset",
    "engines.frames.privatize_dataframe",
    "engines.frames.privatize_lazyframe",
    "engines.arrow.privatize_dataset",
    "engines.arrow.privatize_relation",
    "engines.tasks.ReleasedTable",
    "engines.presidio.anonymize_records",
    "engines.presidio.certify_spans",
    "engines.spacy.create_privatizer",
    "engines.spacy.make_docs",
    "engines.tallies.merge_tallies",
    "engines.tallies.make_certificate",
)
"""Names that are imported from their module, since each needs its host."""
OPTIONS = {
    "audit": "auditing.black_box.AuditOptions",
    "audit_training": "auditing.training.audit.TrainingAuditOptions",
    "collect_training_facts": "auditing.training.audit.PairOptions",
    "audit_language_model": "auditing.samplers.audit.LanguageAuditOptions",
}
"""Functions with ``**options``, and the class whose fields these are."""
TYPES = ("words.outcomes.Outcomes", "words.outcomes.Band", "persons.options.CandidateRequest")
"""What public functions return, or give to a function of the user's; nobody imports them."""
INTERNAL = {
    "Space": "graph map_row_blocks first_word_at words_by_point distance_error",
    "Release": "describe_ledger read_key privatize_cells lexer",
    "Tally": "remarks median_length",
    "Certificate": "describe_amount describe_guarantee list_own_facts",
    "Ledger": "keys shown_location charge_afresh",
    "LanguageModel": "start_tokens end_tokens has_conversations end_token words decode_tokens encode encode_inside "
    "decode build_prompt sum_losses pad",
    "SynthesisOptions": "has_counts choose_generator",
    "TextPrivatizer": "get_feature_names_out",
    "WordMechanism": "get_params is_builtin has_fingerprint draw_words word_shares",
    "TEM": "kernel",
    "CalibratedExponential": "kernel",
    "TightExponential": "kernel",
    "Gaussian": "grid squared_mu worst_pair",
    "Laplace": "grid worst_pair",
    "KNorm": "grid worst_pair",
    "DPText": "worst_pair",
    "Box": "worst_pair",
    "L1Ball": "worst_pair",
    "L2Ball": "worst_pair",
    "OpacusWatch": "state_plan take_step",
    "laws.Law": "map_rows tables input_losses",
    "laws.ExponentialLaw": "census log_normalisers input_losses",
    "laws.RingLaw": "rows tables bound_far_losses input_losses",
    "laws.TabulatedLaw": "map_rows tables",
    "laws.Simulation": "resolve draw",
    "texts.Documents": "fingerprint take",
    "texts.TokenizedTexts": "take replace_words",
    "texts.TextModel": "pairs to_artifact",
    "texts.LinearClassifier": "to_artifact score_features",
    "texts.Substitutions": "choices_of choice_counts",
    "texts.TextTrainingOptions": "resolve_epochs",
    "images.ImageModel": "architecture declaration to_artifact",
    "rewriting.Rewriter": "to_artifact",
}
"""Members without an underscore that only this package calls."""


@dataclasses.dataclass(frozen=True)
class Area:
    """One page.

    Attributes:
        title: of the page.
        text: what is there, and where it is explained.
        names: below ``dn.``, separated by white space.
    """

    title: str
    text: str
    names: str


AREAS = {
    "vocabulary": Area(
        "Vocabularies",
        "The words that a mechanism draws from, how far they are apart, and which of them are hidden as a class "
        "([names, places and numbers](../../hidden_words.md)).",
        "Space Metric WordClass Prior read_prior",
    ),
    "words": Area(
        "Word mechanisms",
        "What replaces one word by another. Each mechanism has [a page with its formula](../../mechanisms/index.md); "
        "`dn.laws` holds the probabilities that [a mechanism of your own](../../howto/own_mechanism.md) returns.",
        "mechanism WordMechanism CalibratedExponential TightExponential TEM MultivariateLaplace TruncatedGumbel "
        "recovery words.outcomes.Outcomes words.outcomes.Band laws.Law laws.ExponentialLaw "
        "laws.ExponentialKernel laws.RingLaw laws.TabulatedLaw "
        "laws.SimulatedLaw laws.Simulation laws.make_exponential_law",
    ),
    "vectors": Area(
        "Vector mechanisms",
        "Noise for vectors of numbers, and the sets that they lie in ([explained here](../../vectors/index.md)).",
        "VectorMechanism Laplace Gaussian KNorm ADePT DPText Box L1Ball L2Ball",
    ),
    "releases": Area(
        "Releases and certificates",
        "Private texts, what was counted, and the certificate ([every field of it](../certificate.md)).",
        "Release Released Tally TextPrivatizer Certificate check_certificate parse_certificate CertificateCheck "
        "FieldCheck",
    ),
    "ledger": Area(
        "Ledgers",
        "What each person has spent over all releases ([a walk through one](../../howto/ledger.md)).",
        "create_ledger Ledger BudgetExceeded PersonsMissing",
    ),
    "hosts": Area(
        "Spark, Ray, data frames, Presidio, spaCy",
        "Texts released where they are. Import these from their module, such as `from deniable.engines import spark`; "
        "each needs the package of its name ([what holds for all](../../howto/hosts.md)).",
        " ".join(HOSTS),
    ),
    "synthesis": Area(
        "Synthetic records and private classifiers",
        "What a whole collection shows, with every record or person protected ([how it works](../../persons.md)). "
        "Language models need `deniable[lm]`.",
        "synthesize SynthesisOptions ClassifierOptions PublicTexts SyntheticRelease "
        "persons.options.CandidateRequest LanguageModel ModelCard WritingOptions "
        "adapt_vectors VectorOptions PrivateVectors "
        "texts.fit_private_classifier texts.LinearClassifier texts.load_linear_classifier",
    ),
    "evidence": Area(
        "Guarantees, proofs and audits",
        "Claims of privacy, and evidence for or against them ([audit a mechanism](../../audit.md), [how a guarantee is "
        "proved](../../verification.md)).",
        "Guarantee Verdict Witness verify audit audit_training TrainingFacts TrainingPlan TrainingStep "
        "collect_training_facts OpacusWatch audit_language_model LanguageAudit SamplerFacts audit_sensitivity "
        "SensitivityAudit audit_inverse_sampler InverseSamplerAudit",
    ),
    "measure": Area(
        "Measure and tune",
        "What a release still shows, and the epsilon that gives a wanted figure ([what they "
        "measure](../../measure.md)). Parts need `deniable[measure]`.",
        "measure.privatize_texts measure.measure_recovery measure.measure_contextual_recovery "
        "measure.measure_crossfitted_recovery measure.ReadingPlan measure.build_reader measure.measure_reading "
        "measure.measure_deniability measure.measure_similarity measure.label_entities measure.measure_entities "
        "measure.measure_utility measure.measure_membership measure.measure_authorship measure.encode_labels "
        "tune.tune_recovery tune.tune_kept tune.tune_utility tune.TuningResult",
    ),
    "texts": Area(
        "Text classifiers",
        "Classifiers that withstand replaced words ([an example](../../robust_text.md#from-python)); they need "
        "`deniable[train]`.",
        "texts.tokenize_texts texts.TokenizedTexts texts.Documents texts.Substitutions texts.build_substitutions "
        "texts.read_substitutions texts.TextTrainingOptions texts.fit_text_model texts.TextModel texts.load_text_model "
        "texts.save_model texts.measure_text_accuracy texts.certify_by_intervals texts.SmoothingOptions "
        "texts.certify_texts texts.TEXT_ATTACKS",
    ),
    "images": Area(
        "Image classifiers",
        "Classifiers that are private, robust or both ([an example](../../robust.md#from-python)); they need "
        "`deniable[train]`.",
        "images.read_images images.ImageDataset images.LabelledImages images.IMAGE_TRAINERS images.fit_image_model "
        "images.ImageModel images.save_model images.load_image_model images.measure_image_accuracy "
        "images.certify_image_model images.CertifiedAccuracyCurve images.smooth_image_model images.IMAGE_ATTACKS "
        "images.SignAttack images.L2Attack images.L1Attack images.attack_image_model images.choose_image_attacks",
    ),
    "rewriting": Area(
        "Rewriting whole texts",
        "Models that rewrite a text as one record ([an example](../../rewrite.md#what-to-expect)), and the published "
        "systems ADePT and DPText; they need `deniable[train]`.",
        "rewriting_method rewriting.RewriterOptions rewriting.fit_rewriter rewriting.Rewriter rewriting.load_rewriter "
        "rewriting.Vocabulary rewriting.rewrite_table rewriting.measure_reconstruction rewriting.audit_pair "
        "rewriting.encode_clipped_vectors rewriting.measure_text_distances rewriting.rank_true_candidates "
        "rewriting.compute_max_success rewriting.evaluate_success published.dptext.AttributeRecords "
        "published.dptext.RepresentationOptions published.dptext.fit_representation published.dptext.Representation "
        "published.dptext.load_representation",
    ),
    "errors": Area(
        "Errors",
        "Every error that `deniable` raises on purpose has a text of one line.",
        "DeniableError InputError NotTractable",
    ),
}
"""Pages by file name, in the order in which the index lists them."""


def list_public_names() -> Iterator[str]:
    """Yield every public name below ``dn.`` that is no module."""
    modules = {facade.partition(".")[0] for facade in FACADES}
    yield from (name for name in importlib.import_module("deniable").__all__ if name not in modules)
    for facade in FACADES:
        module = importlib.import_module(f"deniable.{'words.laws' if facade == 'laws' else facade}")
        yield from (f"{facade}.{name}" for name in getattr(module, "__all__", ()))


def describe_python() -> dict[str, str]:
    """Return the text of every page by its file name.

    Raises:
        ValueError: a public name is in no area, or in several, or an area has a name that is not public.
    """
    placed = [name for area in AREAS.values() for name in area.names.split() if name not in (*HOSTS, *TYPES)]
    public = set(list_public_names())
    if wrong := sorted({name for name in placed if placed.count(name) > 1} | (public ^ set(placed))):
        raise ValueError(f"Each public name must be in one area of python_names.py: {', '.join(wrong)}.")
    pages = {f"{name}.md": _describe_area(area) for name, area in AREAS.items()}
    return {"index.md": _describe_index(), **pages}


def _describe_index() -> str:
    """Return the page that says where each name is."""
    rows = [
        (f"[{area.title}]({page}.md)", ", ".join(f"[`{_shorten(name)}`]({page}.md#deniable.{name})" for name in names))
        for page, area in AREAS.items()
        for names in [area.names.split()]
    ]
    introduction = """# Python

```python
import deniable as dn
```

Every public name, by area. Arguments are checked when you pass them: an error names the value and the fix. Links
such as `vocabulary.md#deniable.Space` keep working when a class moves to a different module.
"""
    return f"{introduction}\n{make_table(('area', 'names'), rows)}\n{_FOOTER}"


_FOOTER = "<!-- Written by python -m tools.reference, from tools/reference/python_names.py. -->\n"


def _shorten(name: str) -> str:
    """Return the name under which a user finds it."""
    if name in TYPES:
        return name.rpartition(".")[2]
    return f"deniable.{name}" if name in HOSTS else f"dn.{name}"


def _describe_area(area: Area) -> str:
    """Return the page of an area."""
    parts = [f"# {area.title}\n", f"{area.text}\n"]
    for name in area.names.split():
        options = [f"heading: {_shorten(name)}", f"toc_label: {_shorten(name)}"]
        if name in INTERNAL:
            options.append(f'filters: ["!^_", "!^({"|".join(INTERNAL[name].split())})$"]')
        parts.append(_include(f"deniable.{name}", options))
        if name in OPTIONS:
            parts += [
                f"#### Options of `dn.{name}` {{ #options-of-{name.replace('_', '-')} }}\n",
                _include(f"deniable.{OPTIONS[name]}", ["show_root_heading: false", "show_root_toc_entry: false"]),
            ]
    return "\n".join([*parts, _FOOTER])


def _include(path: str, options: list[str]) -> str:
    """Return the lines that mkdocstrings replaces by a description."""
    return "\n".join([f"::: {path}", "    options:", *(f"      {option}" for option in options)]) + "\n"
