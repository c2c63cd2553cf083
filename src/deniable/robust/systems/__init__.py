"""Systems: ways to train a model of images, by name."""

from deniable.robust.systems import (
    adlm,
    adversarial,
    batch_clipped,
    dp_adversarial,
    dp_cert,
    dp_sgd,
    dpal,
    pixeldp,
    plain,
    secure_sgd,
)
from deniable.robust.systems.system import ImageTrainer, ImageTrainingOptions, ImageTrainingTask, PreparedTraining

IMAGE_TRAINERS: dict[str, ImageTrainer] = {
    system.name: system
    for system in (
        dp_sgd.DP_SGD_TRAINER,
        dp_cert.DP_CERT_TRAINER,
        dp_adversarial.DP_ADVERSARIAL_TRAINER,
        pixeldp.PIXELDP_TRAINER,
        secure_sgd.SECURESGD_TRAINER,
        secure_sgd.SECURESGD_AGM_TRAINER,
        adlm.ADLM_TRAINER,
        dpal.DPAL_TRAINER,
        batch_clipped.BATCH_CLIPPED_TRAINER,
        adversarial.ADVERSARIAL_TRAINER,
        plain.PLAIN_TRAINER,
    )
}
"""The registry: a new system is one new file and one more entry here."""

__all__ = ["IMAGE_TRAINERS", "ImageTrainer", "ImageTrainingOptions", "ImageTrainingTask", "PreparedTraining"]
