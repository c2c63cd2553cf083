"""``deniable serve``: private texts over HTTP."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.building import build_space, build_word_mechanism, check_mechanism_epsilon, read_word_list
from deniable.cli.charging import LedgerChoice, open_ledger
from deniable.cli.choices import CaseHandling, MechanismName, MetricName, RewritingMethodName, UnknownWordHandling
from deniable.cli.options import (
    HIDE_DEFAULT,
    MODEL_PANEL,
    PRIVACY_PANEL,
    CaseOption,
    HideOption,
    KeepOption,
    LedgerKeyOption,
    MetricOption,
    SpaceOption,
    UnknownOption,
    list_choices,
    make_option,
)
from deniable.cli.progress import show_nothing, show_passes
from deniable.core.errors import InputError, is_interruption
from deniable.core.parallel import expect_passes

if TYPE_CHECKING:
    from deniable.serve.catalogue import Catalogue
    from deniable.serve.guard import Access
    from deniable.serve.offers import Offer
    from deniable.space import Space
    from deniable.text.release import Release
    from deniable.words import WordMechanism

ACCESS_PANEL, LIMITS_PANEL = "Access", "Limits"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

FixedEpsilonOption = Annotated[
    float | None,
    make_option(
        PRIVACY_PANEL,
        "--epsilon",
        "Privacy budget of every request: for each word, per unit of distance, or with --model for each text.",
        default_text="chosen by requests",
    ),
]
OfferedMechanismOption = Annotated[
    MechanismName | None,
    make_option(
        PRIVACY_PANEL,
        "--mechanism",
        f"Only word mechanism: {list_choices(MechanismName)}.",
        metavar="MECHANISM",
        default_text="auto with --epsilon, otherwise chosen by requests",
    ),
]
ServedModelOption = Annotated[
    Path | None,
    make_option(
        MODEL_PANEL,
        "--model",
        "Model file written by deniable train rewriter: texts are rewritten as a whole; needs --method and --epsilon.",
        metavar="MODEL",
    ),
]
ServedMethodOption = Annotated[
    RewritingMethodName | None,
    make_option(MODEL_PANEL, "--method", f"Rewriting method: {list_choices(RewritingMethodName)}.", metavar="METHOD"),
]
ServedDeltaOption = Annotated[
    float | None, make_option(MODEL_PANEL, "--delta", "Delta of the budget, for adept-gaussian; for example 1e-5.")
]
HostOption = Annotated[
    str, make_option(ACCESS_PANEL, "--host", "Address to listen on; any but this machine's own needs a token.")
]
PortOption = Annotated[
    int, make_option(ACCESS_PANEL, "--port", "Port to listen on; 0 for a free one.", min=0, max=65535)
]
TokenVariableOption = Annotated[
    str | None,
    make_option(
        ACCESS_PANEL, "--token-env", "Environment variable with the token that requests must bear.", metavar="NAME"
    ),
]
TokenFileOption = Annotated[
    Path | None,
    make_option(
        ACCESS_PANEL,
        "--token-file",
        "File with the token that requests must bear; or a line NAME TOKEN for each caller.",
        metavar="FILE",
    ),
]
CallersLedgerOption = Annotated[
    str | None,
    make_option(
        PRIVACY_PANEL,
        "--ledger",
        "Ledger of what each caller spends, made with --unit caller; needs --epsilon.",
        metavar="WHERE",
    ),
]
AllowedHostsOption = Annotated[
    list[str] | None,
    make_option(
        ACCESS_PANEL,
        "--allow-host",
        "Name that requests may call the service by; may be given more than once.",
        metavar="NAME",
        default_text="localhost, 127.0.0.1, ::1 and --host",
    ),
]
MaxBodyOption = Annotated[
    int, make_option(LIMITS_PANEL, "--max-body", "Maximum size of a request.", min=1, max=1024, metavar="MIB")
]
MaxTextsOption = Annotated[
    int, make_option(LIMITS_PANEL, "--max-texts", "Maximum number of texts of a request.", min=1, metavar="COUNT")
]
MaxWaitingOption = Annotated[
    int,
    make_option(
        LIMITS_PANEL, "--max-waiting", "Maximum number of requests that wait for work.", min=1, metavar="COUNT"
    ),
]
RequestTimeLimitOption = Annotated[
    int,
    make_option(
        LIMITS_PANEL,
        "--time-limit",
        "Maximum duration of a request, waiting included.",
        min=1,
        max=86_400,
        metavar="SECONDS",
    ),
]


def run_serve(
    *,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    token_env: TokenVariableOption = None,
    token_file: TokenFileOption = None,
    allow_host: AllowedHostsOption = None,
    epsilon: FixedEpsilonOption = None,
    ledger: CallersLedgerOption = None,
    key_file: LedgerKeyOption = None,
    mechanism: OfferedMechanismOption = None,
    unknown: UnknownOption = UnknownWordHandling.DRAW,
    case: CaseOption = CaseHandling.LOWER,
    keep: KeepOption = None,
    space: SpaceOption = "glove",
    metric: MetricOption = MetricName.STEPS,
    hide: HideOption = HIDE_DEFAULT,
    model: ServedModelOption = None,
    method: ServedMethodOption = None,
    delta: ServedDeltaOption = None,
    max_body: MaxBodyOption = 4,
    max_texts: MaxTextsOption = 10_000,
    max_waiting: MaxWaitingOption = 1_024,
    time_limit: RequestTimeLimitOption = 30,
) -> None:
    """Serve private texts over HTTP, on this machine unless a token is given.

    With --epsilon or --model every request gets the same release; otherwise requests choose a mechanism and an epsilon
    of a fixed ladder. Noise is always fresh. Requires the serve extra of deniable.
    """
    from deniable.core.errors import import_extra

    for package in ("fastapi", "httptools", "uvicorn"):
        import_extra(package, "deniable serve", "serve")
    from deniable.serve.app import create_app
    from deniable.serve.limits import Limits
    from deniable.serve.server import bind_address, run_server

    access = _build_access(host, token_env, token_file, allow_host or [])
    _check_model_options(model, mechanism, method, epsilon, delta)
    LedgerChoice(ledger, key_file)  # which belong together
    opened_ledger = None if ledger is None else open_ledger(ledger, key_file)
    if opened_ledger is not None and epsilon is None:
        raise InputError("--ledger counts what one release spends: fix it with --epsilon.")
    release_options = _list_release_options(unknown, case, keep)
    if model is not None and release_options:
        raise InputError(
            "--unknown, --case and --keep are about words, and --model rewrites whole texts: leave them out."
        )
    limits = Limits.make(body_bytes=max_body << 20, texts=max_texts, waiting=max_waiting, work_seconds=time_limit)
    make_release = _choose_release(unknown, case, keep)
    try:
        with bind_address(host, port) as listener:  # before anything that takes long
            if model is not None and method is not None and epsilon is not None:
                catalogue = _offer_model(model, method, epsilon, delta)
            else:
                catalogue = _offer_words(space, metric, hide, mechanism, epsilon, make_release)
            app = create_app(
                catalogue,
                access=access,
                limits=limits,
                ledger=opened_ledger,
                command_options=_list_vocabulary_options(space, metric, hide),
                release_options=release_options,
            )
            with show_nothing():
                run_server(app, listener, lambda url: typer.echo(f"serving on {url}; stop with Ctrl-C", err=True))
    except BaseException as error:
        if not is_interruption(error):  # a service that is told to stop while it prepares ends well, too
            raise
    typer.echo("stopped", err=True)


def _check_model_options(
    model: Path | None,
    mechanism: MechanismName | None,
    method: RewritingMethodName | None,
    epsilon: float | None,
    delta: float | None,
) -> None:
    """Raise `InputError` for options that do not belong together."""
    if model is None and (method is not None or delta is not None):
        raise InputError("--method and --delta belong to --model: give a rewriting model, or leave them out.")
    if model is not None and mechanism is not None:
        raise InputError("--model and --mechanism exclude each other: a model is served by --method.")
    if model is not None and (method is None or epsilon is None):
        raise InputError("--model needs --method and --epsilon, for example --method adept-true --epsilon 50.")


def _list_vocabulary_options(space: str, metric: MetricName, hide: str) -> list[str]:
    """Return the options that name the vocabulary, where they are not the defaults."""
    given = {
        "--space": (space, "glove"),
        "--metric": (metric.value, MetricName.STEPS.value),
        "--hide": (hide, HIDE_DEFAULT),
    }
    return [part for option, (value, default) in given.items() if value != default for part in (option, value)]


def _list_release_options(unknown: UnknownWordHandling, case: CaseHandling, keep: Path | None) -> list[str]:
    """Return the options of the release, where they are not the defaults."""
    return [
        *([] if unknown is UnknownWordHandling.DRAW else ["--unknown", unknown.value]),
        *([] if case is CaseHandling.LOWER else ["--case", case.value]),
        *([] if keep is None else ["--keep", str(keep)]),
    ]


def _choose_release(
    unknown: UnknownWordHandling, case: CaseHandling, keep: Path | None
) -> "Callable[[WordMechanism], Release]":
    """Return what makes the release by a mechanism, with fresh noise.

    Raises:
        InputError: the file of public words cannot be read.
    """
    from deniable.text.release import Release

    return functools.partial(Release, unknown=unknown.value, case=case.value, keep=read_word_list(keep))


def _build_access(host: str, variable: str | None, path: Path | None, allowed_hosts: list[str]) -> "Access":
    """Return who may send requests.

    Raises:
        InputError: two tokens, none for an address that others can reach, or one that cannot be used.
    """
    from deniable.serve.guard import Access

    if variable is not None and path is not None:
        raise InputError("Give --token-env or --token-file, not both.")
    token = _read_token(variable, path)
    if token is None and host not in LOOPBACK_HOSTS:
        raise InputError(
            f"Others can reach the address {host!r}: give a token with --token-env or --token-file, or listen on "
            "127.0.0.1."
        )
    return Access.of(token, [host, *allowed_hosts])


def _read_token(variable: str | None, path: Path | None) -> str | dict[str, str] | None:
    """Return the token, or those of several callers by their names; None for none.

    Raises:
        InputError: it cannot be read, or cannot be used. No message shows it.
    """
    if variable is not None:
        if variable not in os.environ:
            raise InputError(f"The environment variable {variable!r}, which should hold the token, is not set: set it.")
        return os.environ[variable]
    if path is None:
        return None
    try:
        content = path.read_text(encoding="ascii")
    except UnicodeDecodeError:
        raise InputError(f"The token file {str(path)!r} must hold ASCII characters alone.") from None
    except OSError as error:
        raise InputError(f"The token file {str(path)!r} cannot be read: {error.strerror}.") from None
    lines = [line.split() for line in content.splitlines() if line.strip()]
    return content if len(lines) <= 1 and len(content.split()) <= 1 else _parse_callers(lines, path)


def _parse_callers(lines: list[list[str]], path: Path) -> dict[str, str]:
    """Return the tokens of callers by their names.

    Raises:
        InputError: a line is no name and token, or a name is there twice.
    """
    from deniable.core.identity import make_identity

    tokens: dict[str, str] = {}
    for number, parts in enumerate(lines, 1):
        if len(parts) != 2:  # noqa: PLR2004 - a name and a token
            raise InputError(
                f"The token file {str(path)!r} must hold one token, or a line NAME TOKEN for each caller. "
                f"Line {number} of those with text has {len(parts)} words."
            )
        name = str(make_identity(parts[0]))  # a ledger knows callers, as it knows persons, by their identities
        if name in tokens:
            raise InputError(f"The token file {str(path)!r} names the caller {name!r} twice: name each once.")
        tokens[name] = parts[1]
    return tokens


def _offer_words(
    source: str,
    metric: MetricName,
    hide: str,
    mechanism: MechanismName | None,
    epsilon: float | None,
    make_release: "Callable[[WordMechanism], Release]",
) -> "Catalogue":
    """Return the catalogue of word mechanisms, and show the proof of a fixed one."""
    from deniable.serve.catalogue import Catalogue, list_default_mechanisms
    from deniable.serve.offers import WordOffer

    if epsilon is not None:
        check_mechanism_epsilon(mechanism or MechanismName.AUTO, epsilon)
    word_space: Space = build_space(source, metric, hide)
    if epsilon is None:
        names = list_default_mechanisms(word_space) if mechanism is None else [mechanism.value]
        catalogue = Catalogue.of_space(word_space, names, make_release=make_release)
        with show_passes("preparing"), expect_passes(1):
            catalogue.prepare(catalogue.default)
        return catalogue
    with show_passes("calibrating"), expect_passes(1):
        offer = WordOffer(make_release(build_word_mechanism(word_space, mechanism or MechanismName.AUTO, epsilon)))
    return _fix_offer(offer)


def _offer_model(path: Path, method: RewritingMethodName, epsilon: float, delta: float | None) -> "Catalogue":
    """Return the catalogue of one rewriting method, and show its proof.

    Raises:
        InputError: an option does not suit, or the model cannot be read.
    """
    from deniable.cli.model_runs import check_torch

    check_torch()
    from deniable.registry.methods import check_method_options, rewriting_method
    from deniable.rewriting.model import load_rewriter
    from deniable.serve.offers import RecordOffer

    options = check_method_options(method.value, delta=delta)
    offer = RecordOffer(rewriting_method(method.value, load_rewriter(path), epsilon=epsilon, **options))
    return _fix_offer(offer)


def _fix_offer(offer: "Offer") -> "Catalogue":
    """Return the catalogue of one offer, prepared, and show its certificate: nothing is released yet."""
    from deniable.serve.catalogue import Catalogue

    with show_passes("verifying and preparing"), expect_passes(1):
        catalogue = Catalogue.fix(offer)
        catalogue.prepare(catalogue.default)
        summary = offer.certify().summary()
    typer.echo(summary, err=True)
    return catalogue
