"""What each package offers and claims, as read in its source and README: one case a row of the audit.

A claim is quoted in our words with file and line. None of the packages states the distance in its own
text; each cites the paper of the mechanism, and the claim audited is that paper's, in the reading most
favourable to the package.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSIONS = {"mldp-text": "0.1.2", "pypantera": "1.0.2", "dp-diffractor": "0.2.1"}
LINE, NEEDLE, GLOVE = "line", "needle", "glove"
MLDP = "README 'word-level Metric Local DP'; mechanisms.py:"
PANTERA = "README 'epsilon-DP compliant'; "
EUCLIDEAN = "epsilon times Euclidean distance"


@dataclass(frozen=True)
class Case:
    """One mechanism, its claim, and on what it is audited by default."""

    package: str
    mechanism: str  # by the name that its worker knows
    claim: str
    epsilon: float = 4.0  # 0: slightly above the least one at which truncated Gumbel noise exists
    space: str = GLOVE
    note: str = ""

    @property
    def version(self) -> str:
        """The release audited."""
        return VERSIONS[self.package]


def _gumbel(mechanism: str, note: str) -> Case:
    claim = f"{MLDP}98-102 (cites Carvalho et al. 2021): {EUCLIDEAN}"
    return Case("mldp-text", mechanism, claim, epsilon=0.0, note=note)


CASES = (
    Case("mldp-text", "multivariate_calibrated", f"{MLDP}50-54 (cites Feyisetan et al. 2020): {EUCLIDEAN}"),
    Case(
        "mldp-text",
        "mahalanobis",
        f"{MLDP}350-353 (cites Xu et al. 2020): epsilon times regularized Mahalanobis distance",
    ),
    Case(
        "mldp-text",
        "mahalanobis",
        f"{MLDP}350-353 (cites Xu et al. 2020): epsilon times regularized Mahalanobis distance",
        epsilon=1.0,
        space=NEEDLE,
        note="exact search",
    ),
    Case("mldp-text", "vickrey", f"{MLDP}235-236 (cites Xu et al. 2021): {EUCLIDEAN}"),
    Case(
        "mldp-text",
        "vickrey",
        f"{MLDP}235-236 (cites Xu et al. 2021): {EUCLIDEAN}",
        epsilon=0.05,
        space=LINE,
        note="exact search",
    ),
    Case("mldp-text", "tem", f"{MLDP}303-307 (cites Carvalho et al. 2023): {EUCLIDEAN}", note="vocab= the space"),
    Case(
        "mldp-text",
        "tem-shipped",
        f"{MLDP}303-307 (cites Carvalho et al. 2023): {EUCLIDEAN}",
        epsilon=1.0,
        note="vocab= not given, as in the README",
    ),
    _gumbel("truncated_gumbel", "default index; max_inter_dist, min_inter_dist given"),
    _gumbel("truncated_gumbel-exact", "use_faiss=False; max_inter_dist, min_inter_dist given"),
    Case(
        "mldp-text",
        "syntf",
        f"{MLDP}442-446 (cites Weggenmann and Kerschbaum 2018): epsilon between any two words",
        note="stand-in thesaurus: the 5 nearest words",
    ),
    Case("pypantera", "CMP", f"{PANTERA}cmp.py:25 (cites Feyisetan et al. 2020): {EUCLIDEAN}"),
    Case(
        "pypantera",
        "Mahalanobis",
        f"{PANTERA}mahalanobis.py (cites Xu et al. 2020): epsilon times Mahalanobis distance",
    ),
    Case(
        "pypantera",
        "Mahalanobis",
        f"{PANTERA}mahalanobis.py (cites Xu et al. 2020): epsilon times Mahalanobis distance",
        epsilon=1.0,
        space=NEEDLE,
    ),
    Case("pypantera", "VickreyCMP", f"{PANTERA}vickrey.py:35 (cites Xu et al. 2021): {EUCLIDEAN}"),
    Case(
        "pypantera",
        "VickreyMhl",
        f"{PANTERA}vickrey.py:35 (cites Xu et al. 2021): epsilon times Mahalanobis distance",
    ),
    Case(
        "pypantera",
        "CusText",
        f"{PANTERA}custext.py (cites Chen et al. 2023): epsilon between words of one output set",
    ),
    Case(
        "pypantera",
        "CusText-cosine",
        f"{PANTERA}custext.py (cites Chen et al. 2023): epsilon between words of one output set",
    ),
    Case("pypantera", "SanText", f"{PANTERA}santext.py:90 (cites Yue et al. 2021): {EUCLIDEAN}"),
    Case(
        "pypantera",
        "SanText",
        f"{PANTERA}santext.py:90 (cites Yue et al. 2021): {EUCLIDEAN}",
        epsilon=50.0,
        note="the largest of its script's epsilons",
    ),
    Case("pypantera", "TEM", f"{PANTERA}tem.py:52, 85 (cites Carvalho et al. 2023): {EUCLIDEAN}"),
    Case(
        "dp-diffractor",
        "geometric",
        "README 'Metric DP', core.py:130 (cites Meisenbacher et al. 2024): epsilon times distance in the list",
        epsilon=1.0,
        note="one list",
    ),
    Case(
        "dp-diffractor",
        "TEM",
        "README 'Metric DP', core.py:141-148 (cites Meisenbacher et al. 2024): epsilon times distance in the list",
        epsilon=1.0,
        note="one list",
    ),
)
