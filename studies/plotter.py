"""The one plotter: from rows and panels to a picture.

A figure is first described as plain data: every series, reference line, tick and label. The picture is drawn from
the description alone and carries its fingerprint, so that a check without drawing says whether the picture follows
from the rows. Pixels are not compared: they differ between versions of matplotlib, freetype and their fonts. A second
fingerprint, of the pixels, says whether they are still the ones that were drawn.
"""

import hashlib
import io
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.core.errors import InputError
from studies.rows import Results, Row, find_row
from studies.study import Axis, Line, Panel, Reference, Study, find_reference

COLOURS = ("#2166ac", "#4d4d4d", "#b35806", "#762a83", "#1b7837", "#c51b7d", "#8c510a", "#01665e", "#e08214", "#5aae61")
GREY, BLACK = "#8c8c8c", "#000000"
_STYLE = 1
"""To be raised where the drawing itself is changed, so that every figure is drawn again."""
_DPI, _WIDTH, _HEIGHT = 110, 5.6, 4.1
_DIGITS = 6
"""Significant digits of a coordinate."""
Description = dict[str, Any]


def describe_figure(study: Study, results: Results) -> Description:
    """Return everything that is drawn, as JSON holds it; the study's picture by its digest."""
    everything = (*results.rows, *study.published)
    picture = (
        None if results.picture is None else hashlib.blake2b(results.picture.tobytes(), digest_size=16).hexdigest()
    )
    return {
        "style": _STYLE,
        "columns": study.columns,
        "panels": [_describe_panel(study, panel, everything) for panel in study.panels],
        **({"picture": picture} if picture else {}),
        "keys": [
            {**_describe_line(study, Panel(""), key, ()), "colour": GREY if key.colour is None else COLOURS[key.colour]}
            for key in study.keys
        ],
    }


def _describe_panel(study: Study, panel: Panel, rows: Sequence[Row]) -> Description:
    if panel.images:
        return {"title": panel.title, "images": list(panel.images)}
    return {
        "title": panel.title,
        "x": _describe_axis(panel.x),
        "y": _describe_axis(panel.y),
        "series": [_describe_line(study, panel, line, rows) for line in panel.lines],
        "references": [drawn for each in panel.references if (drawn := _describe_reference(study, panel, each, rows))],
    }


def _describe_axis(axis: Axis) -> Description:
    ticks = [tick if isinstance(tick, tuple) else (tick, f"{tick:,g}") for tick in axis.ticks]
    return {"label": axis.label, "log": axis.log, "limits": axis.limits, "ticks": ticks}


def _describe_line(study: Study, panel: Panel, line: Line, rows: Sequence[Row]) -> Description:
    own = [row for row in rows if (row.curve, row.metric) == (line.curve, line.metric)]
    own.sort(key=lambda row: -math.inf if row.x is None else row.x)  # whatever the order of measurement
    if line.only is not None:
        name, value = line.only
        own = [row for row in own if (other := find_row(rows, row.curve, row.x, name)) and other.value == value]
    places = [(row, _find_place(study, line, row, rows)) for row in own]
    order = list(study.curves)
    colour = order.index(line.curve) if line.colour is None and line.curve in order else line.colour or 0
    scale = study.metrics[line.metric].scale if own else 1.0
    points = [
        [
            _clip(place * line.shift, panel.x.limits),
            *(_clip(scale * value, panel.y.limits) for value in (row.value, *row.interval)),
        ]
        for row, place in places
        if place is not None
    ]
    return {
        "points": points,
        "label": study.curves.get(line.curve, line.curve) if line.label is None else line.label,
        "style": line.style,
        "colour": BLACK if colour < 0 else COLOURS[colour % len(COLOURS)],
        "hollow": line.is_hollow,
        "alpha": line.alpha,
        "width": line.width,
        "clip": panel.x.limits is None and panel.y.limits is None,
    }


def _find_place(study: Study, line: Line, row: Row, rows: Sequence[Row]) -> float | None:
    """Return where a row stands on the x-axis, None where that was not measured."""
    if not isinstance(line.x, str):
        return row.x if line.x is None else line.x
    other = find_row(rows, row.curve, row.x, line.x)
    return None if other is None else study.metrics[line.x].scale * other.value


def _describe_reference(study: Study, panel: Panel, line: Reference, rows: Sequence[Row]) -> Description | None:
    row = find_reference(rows, line.place)
    if row is None:
        return None
    scale = study.metrics[row.metric].scale if row.metric else 1.0
    limits = panel.y.limits if line.axis == "y" else panel.x.limits
    place, low, high = (_clip(scale * value, limits) for value in (row.value, *row.interval))
    colour = GREY if line.colour is None else BLACK if line.colour < 0 else COLOURS[line.colour]
    return {
        "place": place,
        "band": [low, high],
        "axis": line.axis,
        "label": line.label,
        "style": line.style,
        "colour": colour,
    }


def _clip(value: float, limits: tuple[float, float] | None) -> float:
    """Return a coordinate within the axis, rounded so that the last bits of a processor do not count."""
    if limits is not None:
        value = min(max(value, limits[0]), limits[1])
    return float(f"{value:.{_DIGITS}g}")


def compute_fingerprint(description: Description) -> str:
    """Return what tells a figure from others with other rows, panels or style."""
    text = json.dumps(description, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def draw_figure(description: Description, picture: npt.NDArray[np.uint8] | None = None) -> bytes:
    """Return a figure as PNG, with its fingerprints.

    Args:
        description: everything but the picture.
        picture: of the study, where a panel shows it.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("Figures are drawn with matplotlib, which is missing: install deniable[measure].") from None
    panels, columns = description["panels"], description["columns"]
    count = math.ceil(len(panels) / columns)
    style: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": _DPI}
    with mpl.rc_context(style):
        figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * count + 0.5), layout="constrained")
        for axes, panel in itertools.zip_longest(figure.subplots(count, columns, squeeze=False).flat, panels):
            if panel is None:
                axes.set_axis_off()
            elif "images" in panel:
                _draw_images(axes, panel, picture)
            else:
                _draw_panel(axes, panel)
        _draw_legend(figure, description["keys"])
        stream = io.BytesIO()
        figure.savefig(stream, format="png")
    return _sign_picture(stream.getvalue(), compute_fingerprint(description))


def _draw_panel(axes: Any, panel: Description) -> None:  # noqa: ANN401 - matplotlib's
    axes.set_title(panel["title"], loc="left", fontsize=11, pad=9)
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        given = panel[name]
        if given["log"]:
            getattr(axes, f"set_{name}scale")("log", base=given["log"])
        if given["limits"]:
            getattr(axes, f"set_{name}lim")(*given["limits"])
        if given["ticks"]:
            axis.set_ticks(*zip(*given["ticks"], strict=True))
            axis.set_minor_formatter("")
        getattr(axes, f"set_{name}label")(given["label"])
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    for line in panel["references"]:
        look = {"color": line["colour"], "linestyle": line["style"], "linewidth": 0.9, "label": line["label"] or None}
        draw, shade = (axes.axhline, axes.axhspan) if line["axis"] == "y" else (axes.axvline, axes.axvspan)
        draw(line["place"], **look)
        if line["band"][0] < line["band"][1]:
            shade(*line["band"], color=line["colour"], alpha=0.12, linewidth=0)
    for series in panel["series"]:
        if series["points"]:
            _draw_series(axes, series)


def _draw_images(axes: Any, panel: Description, picture: npt.NDArray[np.uint8] | None) -> None:  # noqa: ANN401 - matplotlib's
    """Draw rows of images, with their titles on the left."""
    axes.set_title(panel["title"], loc="left", fontsize=11, pad=9)
    titles = panel["images"]
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    if picture is None:
        axes.set_yticks([])
        return
    axes.imshow(picture, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    height = len(picture) / len(titles)
    axes.set_yticks([(number + 0.5) * height for number in range(len(titles))], titles, fontsize=9)


def _draw_series(axes: Any, series: Description) -> None:  # noqa: ANN401 - matplotlib's
    """Draw values with their intervals."""
    x, y, low, high = zip(*series["points"], strict=True)
    colour, label = series["colour"], series["label"] or None
    if series["style"] == "bar":
        axes.bar(x, y, width=0.62, color=colour, alpha=series["alpha"], label=label)
    else:
        face = "white" if series["hollow"] else colour
        axes.plot(x, y, series["style"], color=colour, markerfacecolor=face, markersize=5, alpha=series["alpha"],
                  linewidth=series["width"], label=label, clip_on=series["clip"])  # fmt: skip
    wide = [(place, *ends) for place, *ends in zip(x, low, high, strict=True) if ends[0] < ends[1]]
    if wide:
        axes.vlines(*zip(*wide, strict=True), color=colour, linewidth=1.0, alpha=0.7 * series["alpha"])


def _draw_legend(figure: Any, keys: Sequence[Description]) -> None:  # noqa: ANN401 - matplotlib's
    """Say once below all panels what stands for what."""
    entries: dict[str, Any] = {}
    for key in keys:
        _draw_series(figure.axes[0], {**key, "points": [[math.nan] * 4]})
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def _sign_picture(picture: bytes, fingerprint: str) -> bytes:
    """Return a picture that carries the fingerprints of what it was drawn from and of its pixels."""
    from PIL import Image, PngImagePlugin

    with Image.open(io.BytesIO(picture)) as image:
        image.load()
        notes = PngImagePlugin.PngInfo()
        notes.add_text("rows", fingerprint)
        notes.add_text("pixels", _digest_pixels(image))
        stream = io.BytesIO()
        image.convert("RGB").save(stream, "PNG", pnginfo=notes, optimize=True)
    return stream.getvalue()


def _digest_pixels(image: Any) -> str:  # noqa: ANN401 - pillow's
    return hashlib.blake2b(image.convert("RGB").tobytes(), digest_size=16).hexdigest()


def find_difference(study: Study, results: Results, path: Path) -> str | None:
    """Say why a figure does not follow from the results; None where it does."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            image.load()
            text: dict[str, str] = getattr(image, "text", {})
            if text.get("rows") != compute_fingerprint(describe_figure(study, results)):
                return "it was drawn from other rows or panels"
            if text.get("pixels") != _digest_pixels(image):
                return "its pixels are not those that were drawn"
    except FileNotFoundError:
        return "it is missing"
    except (OSError, UnidentifiedImageError):
        return "it is no picture"
    return None
