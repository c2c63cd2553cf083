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
from deniable.robust.systems.system import Options, Prepared, System, Task

SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        dp_sgd.SYSTEM,
        dp_cert.SYSTEM,
        dp_adversarial.SYSTEM,
        pixeldp.SYSTEM,
        secure_sgd.SYSTEM,
        secure_sgd.ANALYTIC,
        adlm.SYSTEM,
        dpal.SYSTEM,
        batch_clipped.SYSTEM,
        adversarial.SYSTEM,
        plain.SYSTEM,
    )
}
"""The registry: a new system is one new file and one more entry here."""

__all__ = ["SYSTEMS", "Options", "Prepared", "System", "Task"]
