"""What an attack found."""

import dataclasses

import numpy as np
import numpy.typing as npt

from deniable.measure.estimate import Estimate, estimate_share
from deniable.robust.text.documents import IndexedTexts, RowIndices

Margins = npt.NDArray[np.float64]
"""The label's logit less the largest other one; a text counts as classified rightly where it is above 0."""


@dataclasses.dataclass(frozen=True, eq=False)
class TextAttackResult:
    """The texts that an attack ends with, one for each of n documents.

    Attributes:
        texts: the one that flipped the classifier, else the one of least margin; where no margin was below the
            document's own, and for documents that were not attacked, the document itself.
        margins: (n,) of these texts.
        correct_before: (n,) whether the document itself is classified rightly; only such documents are attacked.
        flipped: (n,) whether the attack found a text that is not.
        queries: (n,) texts that the classifier was asked about, the document itself among them.
        changed_words: (n,) words in which the text differs from the document.
    """

    texts: IndexedTexts
    margins: Margins
    correct_before: npt.NDArray[np.bool_]
    flipped: npt.NDArray[np.bool_]
    queries: RowIndices
    changed_words: RowIndices

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.texts)

    def clean_accuracy(self) -> Estimate:
        """Return the share of documents that are classified rightly."""
        return estimate_share(int(self.correct_before.sum()), len(self))

    def adversarial_accuracy(self) -> Estimate:
        """Return the share of documents that are classified rightly and that the attack did not flip.

        It bounds the accuracy under the worst text from above: another attack may find more.
        """
        return estimate_share(int((self.correct_before & ~self.flipped).sum()), len(self))
