"""The registry of word mechanisms: one line each, in the order in which help lists them.

Nothing else names them one by one: the command line, `deniable`'s public names, the docs' table and the tests read this
file, most of them without importing what it imports.
"""

from deniable.words.calibrated_exponential import CalibratedExponential as CalibratedExponential
from deniable.words.tight_exponential import TightExponential as TightExponential
from deniable.words.tem import TEM as TEM
from deniable.words.multivariate_laplace import MultivariateLaplace as MultivariateLaplace
from deniable.published.truncated_gumbel.mechanism import TruncatedGumbel as TruncatedGumbel
