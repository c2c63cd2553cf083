"""What the commands that certify share."""

import json

import pytest

from deniable.cli.certify.options import CertifyOptions, report_certification
from deniable.core.errors import InputError


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_probabilities_of_error(alpha):
    """The probability that a certificate is wrong lies between 0 and 1."""
    with pytest.raises(InputError, match="The 'alpha' parameter of a certificate must be a float in"):
        CertifyOptions(100, alpha, 0, 0)


def test_reports(tmp_path, capsys):
    """The record goes to the owner's file and the lines to the terminal."""
    report_certification(["one line"], {"draws": 3}, tmp_path / "c.json", force=False)
    assert capsys.readouterr() == ("one line\n", "")
    assert json.loads((tmp_path / "c.json").read_text()) == {"draws": 3}
    assert (tmp_path / "c.json").stat().st_mode & 0o777 == 0o600
    report_certification(["alone"], {}, None, force=False)
    assert capsys.readouterr() == ("alone\n", "")
