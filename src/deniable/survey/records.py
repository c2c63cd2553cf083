"""Release record by record: every text rewritten as a whole by a public model."""

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from deniable.core.guarantees import is_proved, limit_status
from deniable.core.numbers import format_exact
from deniable.rewriting.tokens import truncate_text
from deniable.survey.results import Promise, Result
from deniable.survey.survey import Bench

if TYPE_CHECKING:
    from deniable.rewriting.methods import RewritingMethod

RewritingMaker = Callable[[float, int | None], "RewritingMethod"]
"""Returns the rewriting method of an epsilon, with a public seed or, for None, with fresh noise."""


@dataclasses.dataclass(frozen=True, eq=False)
class Records:
    """Every text rewritten as a whole, see `deniable.survey.survey.Way`.

    Attributes:
        make_method: of rewriting.
        epsilon: of each text.
    """

    make_method: RewritingMaker
    epsilon: float

    @property
    def name(self) -> str:
        """Name of the row."""
        return f"records, epsilon {format_exact(self.epsilon)}"

    def measure(self, bench: Bench) -> Result:
        """Return the figures of a draft; the guarantee is that of a release with fresh noise."""
        seeded, method = self.make_method(self.epsilon, bench.plan.seed), self.make_method(self.epsilon, None)
        start = time.perf_counter()
        texts = seeded.rewrite([truncate_text(text, seeded.model.limit) for text in bench.table.texts])
        seconds = time.perf_counter() - start
        guarantee = limit_status(method.guarantee, method.verify())
        proven = guarantee.epsilon if is_proved(guarantee.status) else None
        return Result(
            kind="records",
            name=self.name,
            epsilon=guarantee.epsilon,
            delta=guarantee.delta or None,
            promise=Promise(
                statement=f"epsilon {format_exact(guarantee.epsilon)} for each text as a whole",
                unit=guarantee.unit,
                adjacency=guarantee.adjacency,
                status=guarantee.status,
                proven=proven,
                whole=proven,
                whole_unit="a record",
            ),
            seconds=seconds,
            note=f"method {method.name}",
            utility=bench.test_classifier(bench.make_runner(texts)) if bench.table.classes else None,
            membership=bench.attack_membership(texts),
            linked=bench.link(texts, is_aligned=False),
            authorship=bench.attack_authorship(texts),
            perplexity=bench.measure_perplexity(texts),
        )
