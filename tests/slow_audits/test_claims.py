"""No trainer goes without an audit."""

from tests.slow_audits.claims import ALL_AUDITS, NOT_AUDITED, list_registered


def test_every_trainer_has_an_audit_or_a_reason():
    """A trainer, generator or rewriting method that is registered is audited, or a reason says why not, never both."""
    audited = {audit.name for audit in ALL_AUDITS}
    assert audited | {*NOT_AUDITED} == list_registered()
    assert not audited & {*NOT_AUDITED}


def test_every_audit_has_statistics_or_shares_them():
    """An audit without runs of its own names another one, whose sums are the same."""
    with_runs = {str(audit) for audit in ALL_AUDITS if audit.runs}
    assert {audit.measured_as for audit in ALL_AUDITS if not audit.runs} <= with_runs
