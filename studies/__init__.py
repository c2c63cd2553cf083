"""Studies: published figures run again, each a declaration; see README.md."""

from studies import (
    adept_atis,
    adept_sensitivity,
    certified_images,
    density,
    dpal,
    dpal_audit,
    dpal_trainings,
    dptext,
    frontier,
    gumbel_deniability,
    language_model_attacker,
    metrics,
    persons_imdb,
    readable_texts,
    robust,
    robust_causes,
    sanity_check,
    sensitive_embeddings,
    tem_utility,
)
from studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        adept_sensitivity.STUDY,
        sanity_check.STUDY,
        gumbel_deniability.STUDY,
        tem_utility.STUDY,
        sensitive_embeddings.STUDY,
        density.STUDY,
        frontier.STUDY,
        metrics.STUDY,
        language_model_attacker.STUDY,
        dpal_audit.STUDY,
        dpal.STUDY,
        certified_images.STUDY,
        dpal_trainings.STUDY,
        dptext.STUDY,
        adept_atis.STUDY,
        robust.STUDY,
        robust_causes.STUDY,
        persons_imdb.STUDY,
        readable_texts.STUDY,
    )
}
"""The registry: a new study is one file and one entry here."""
