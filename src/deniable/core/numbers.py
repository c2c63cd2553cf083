"""How numbers read, the same in every command, certificate and page."""

_WHOLE_FROM = 100
"""Numbers from which on no decimals are shown."""


def format_number(value: float) -> str:
    """Return a number for people: three figures, or from 100 on the nearest whole number with separators."""
    return f"{value:,.0f}" if value >= _WHOLE_FROM else f"{value:.3g}"


def format_exact(value: float) -> str:
    """Return the shortest decimal number that is read back as the very same float."""
    short_text = f"{value:g}"
    return short_text if float(short_text) == value else repr(float(value))
