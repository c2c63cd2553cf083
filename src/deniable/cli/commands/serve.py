"""``deniable serve``: private texts over HTTP."""

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from deniable.cli.charging import LedgerChoice, open_ledger
from deniable.cli.commandline import option
from deniable.cli.options import HIDE_DEFAULT, MECHANISM_NAMES, SpaceOptions, read_word_list
from deniable.cli.progress import show_nothing, show_passes
from deniable.cli.terminal import say
from deniable.core.errors import InputError, check_positive, is_interruption
from deniable.core.parallel import expect_passes
from deniable.registry import REWRITING_METHODS, check_not_refuted

if TYPE_CHECKING:
    from deniable.serve.catalogue import Catalogue
    from deniable.serve.guard import Access
    from deniable.serve.offers import Offer
    from deniable.text.release import Release
    from deniable.words import WordMechanism

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AccessOptions:
    """Access.

    Attributes:
        host: address to listen on; any but this machine's own needs a token.
        port: port to listen on; 0 for a free one.
        token_env: environment variable with the token that requests must bear.
        token_file: file with the token that requests must bear; or a line NAME TOKEN for each caller.
        allow_host: name that requests may call the service by; may be given more than once.

    Raises:
        InputError: two tokens.
    """

    host: str = "127.0.0.1"
    port: int = dataclasses.field(default=8000, metadata=option(min=0, max=65535))
    token_env: str | None = dataclasses.field(default=None, metadata=option(metavar="NAME"))
    token_file: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    allow_host: list[str] | None = dataclasses.field(
        default=None, metadata=option(metavar="NAME", show_default="localhost, 127.0.0.1, ::1 and --host")
    )

    def __post_init__(self) -> None:
        """Take one token, or one file of them."""
        if self.token_env is not None and self.token_file is not None:
            raise InputError("Give --token-env or --token-file, not both.")

    def build(self) -> "Access":
        """Who may send requests.

        Raises:
            InputError: no token for an address that others can reach, or one that cannot be used.
        """
        from deniable.serve.guard import Access

        token = self._read_token()
        if token is None and self.host not in LOOPBACK_HOSTS:
            raise InputError(
                f"Others can reach the address {self.host!r}: give a token with --token-env or --token-file, or listen "
                "on 127.0.0.1."
            )
        return Access(token, [self.host, *(self.allow_host or ())])

    def _read_token(self) -> str | dict[str, str] | None:
        """The token, or those of several callers by their names; None for none. No message shows it."""
        if self.token_env is not None:
            if self.token_env not in os.environ:
                raise InputError(
                    f"The environment variable {self.token_env!r}, which should hold the token, is not set: set it."
                )
            return os.environ[self.token_env]
        path = self.token_file
        if path is None:
            return None
        try:
            content = path.read_text(encoding="ascii")
        except UnicodeDecodeError:
            raise InputError(f"The token file {str(path)!r} must hold only ASCII characters.") from None
        except OSError as error:
            raise InputError(f"The token file {str(path)!r} cannot be read: {error.strerror}.") from None
        lines = [line.split() for line in content.splitlines() if line.strip()]
        return content if len(lines) <= 1 and len(content.split()) <= 1 else _parse_callers(lines, path)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServedPrivacy:
    """Privacy.

    Attributes:
        epsilon: privacy budget of every request; for each word, per unit of distance, or with --model for each text.
        mechanism: the only word mechanism offered.
        unknown: what to do with words outside the vocabulary; draw a replacement, mask or drop them.
        case: letter case; copy reveals the text's capitals.
        keep: file of public words, one per line, that are never changed.
        ledger: ledger of what each caller spends, made with --unit caller; requires --epsilon.
        key_file: key of the ledger.

    Raises:
        InputError: options that do not belong together.
    """

    epsilon: float | None = dataclasses.field(default=None, metadata=option(show_default="chosen by requests"))
    mechanism: str | None = dataclasses.field(
        default=None,
        metadata=option(
            choices=MECHANISM_NAMES,
            metavar="MECHANISM",
            show_default="auto with --epsilon, otherwise chosen by requests",
        ),
    )
    unknown: Literal["draw", "mask", "drop"] = "draw"
    case: Literal["lower", "copy"] = "lower"
    keep: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE"))
    ledger: str | None = dataclasses.field(default=None, metadata=option(metavar="WHERE"))
    key_file: Path | None = dataclasses.field(default=None, metadata=option(metavar="FILE", show_default="WHERE.key"))

    def __post_init__(self) -> None:
        """Refuse a ledger that could not tell what a request costs."""
        LedgerChoice(self.ledger, self.key_file)  # which belong together
        if self.ledger is not None and self.epsilon is None:
            raise InputError("--ledger counts what one release spends: fix it with --epsilon.")

    @property
    def release_options(self) -> list[str]:
        """The options of the release, where they are not the defaults."""
        given = {"--unknown": (self.unknown, "draw"), "--case": (self.case, "lower"), "--keep": (self.keep, None)}
        return [part for name, (value, default) in given.items() if value != default for part in (name, str(value))]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServedModel:
    """Model.

    Attributes:
        model: model file written by deniable train rewriter; texts are rewritten as a whole; requires --method and
            --epsilon.
        method: rewriting method; the guarantees of adept and dptext are refuted.
        allow_refuted: permit a method whose guarantee is refuted; the output is NOT private.
        delta: delta of the budget, for adept-gaussian; for example 1e-5.

    Raises:
        InputError: options that do not belong together.
    """

    model: Path | None = dataclasses.field(default=None, metadata=option(metavar="MODEL"))
    method: str | None = dataclasses.field(
        default=None, metadata=option(choices=list(REWRITING_METHODS), metavar="METHOD")
    )
    allow_refuted: bool = False
    delta: float | None = None

    def __post_init__(self) -> None:
        """Refuse options of a model without one, and a method whose guarantee is refuted."""
        check_not_refuted(self.method, allow_refuted=self.allow_refuted)
        if self.model is None and (self.method is not None or self.delta is not None):
            raise InputError("--method and --delta belong to --model: give a rewriting model, or leave them out.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """Limits.

    Attributes:
        max_body: maximum size of a request.
        max_texts: maximum number of texts of a request.
        max_waiting: maximum number of requests that wait for work.
        time_limit: maximum duration of a request, waiting included.
    """

    max_body: int = dataclasses.field(default=4, metadata=option(min=1, max=1024, metavar="MIB"))
    max_texts: int = dataclasses.field(default=10_000, metadata=option(min=1, metavar="COUNT"))
    max_waiting: int = dataclasses.field(default=1_024, metadata=option(min=1, metavar="COUNT"))
    time_limit: int = dataclasses.field(default=30, metadata=option(min=1, max=86_400, metavar="SECONDS"))


def run_serve(
    access: AccessOptions, privacy: ServedPrivacy, words: SpaceOptions, model: ServedModel, limits: LimitOptions
) -> None:
    """Serve private texts over HTTP, on this machine unless a token is given.

    With --epsilon or --model every request gets the same release; otherwise each request picks a mechanism and an
    epsilon from a fixed list. Noise is always fresh. Requires the serve extra of deniable.

    Examples:
        deniable serve --epsilon 2.8
        deniable serve --host 0.0.0.0 --token-env TOKEN
    """
    from deniable.core.errors import import_extra

    for package in ("fastapi", "prometheus_client", "uvicorn"):
        import_extra(package, "deniable serve", "serve")
    from deniable.serve.app import bind_address, create_app, run_server
    from deniable.serve.service import Limits
    from deniable.text.release import Release

    allowed = access.build()
    opened_ledger = None if privacy.ledger is None else open_ledger(privacy.ledger, privacy.key_file)
    keep = read_word_list(privacy.keep)
    make_release = functools.partial(Release, unknown=privacy.unknown, case=privacy.case, keep=keep)
    given = {
        "--space": (words.space, "glove"),
        "--metric": (words.metric, "steps"),
        "--hide": (words.hide, HIDE_DEFAULT),
    }
    try:
        with bind_address(access.host, access.port) as listener:  # before anything that takes long
            app = create_app(
                _offer_words(words, privacy, make_release) if model.model is None else _offer_model(model, privacy),
                access=allowed,
                limits=Limits(
                    body_bytes=limits.max_body << 20,
                    texts=limits.max_texts,
                    waiting=limits.max_waiting,
                    work_seconds=limits.time_limit,
                ),
                ledger=opened_ledger,
                command_options=[
                    part for name, (value, default) in given.items() if value != default for part in (name, value)
                ],
                release_options=privacy.release_options,
            )
            with show_nothing():
                run_server(app, listener, lambda url: say(f"serving on {url}; stop with Ctrl-C", err=True))
    except BaseException as error:
        if not is_interruption(error):  # a service that is told to stop while it prepares ends well, too
            raise
    say("stopped", err=True)


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
                f"Line {number}, not counting blank ones, has {len(parts)} words."
            )
        name = str(make_identity(parts[0]))  # a ledger knows callers, as it knows persons, by their identities
        if name in tokens:
            raise InputError(f"The token file {str(path)!r} names the caller {name!r} twice: name each once.")
        tokens[name] = parts[1]
    return tokens


def _offer_words(
    words: SpaceOptions, privacy: ServedPrivacy, make_release: "Callable[[WordMechanism], Release]"
) -> "Catalogue":
    """Return the catalogue of word mechanisms, and show the proof of a fixed one."""
    from deniable.registry import mechanism
    from deniable.serve.catalogue import Catalogue
    from deniable.serve.offers import WordOffer
    from deniable.words.tight_exponential import MAX_DENSE_POINTS

    if privacy.epsilon is not None:
        check_positive("the mechanism", "epsilon", privacy.epsilon)
    space = words.build()
    if privacy.epsilon is None:
        # By default those whose guarantee is proved in such a space within seconds.
        quick = ["calibrated", "tem", *(["tight"] if space.point_count <= MAX_DENSE_POINTS else [])]
        names = quick if privacy.mechanism is None else [privacy.mechanism]
        catalogue = Catalogue.of_space(space, names, make_release=make_release)
        with show_passes("preparing"), expect_passes(1):
            catalogue.prepare(catalogue.default)
        return catalogue
    with show_passes("calibrating"), expect_passes(1):
        offer = WordOffer(make_release(mechanism(privacy.mechanism or "auto", space, epsilon=privacy.epsilon)))
    return _fix_offer(offer)


def _offer_model(served: ServedModel, privacy: ServedPrivacy) -> "Catalogue":
    """Return the catalogue of one rewriting method, and show its proof.

    Raises:
        InputError: an option does not suit, or the model cannot be read.
    """
    from deniable.cli.model_runs import check_torch

    if privacy.mechanism is not None:
        raise InputError("--model and --mechanism exclude each other: a model is served by --method.")
    if served.model is None or served.method is None or privacy.epsilon is None:
        raise InputError("--model needs --method and --epsilon, for example --method adept-true --epsilon 50.")
    if privacy.release_options:
        raise InputError(
            "--unknown, --case and --keep are about words, and --model rewrites whole texts: leave them out."
        )
    check_torch()
    from deniable.registry import check_method_options, rewriting_method
    from deniable.rewriting.model import load_rewriter
    from deniable.serve.offers import RecordOffer

    options = check_method_options(served.method, delta=served.delta)
    method = rewriting_method(served.method, load_rewriter(served.model), epsilon=privacy.epsilon, **options)
    return _fix_offer(RecordOffer(method))


def _fix_offer(offer: "Offer") -> "Catalogue":
    """Return the catalogue of one offer, prepared, and show its certificate: nothing is released yet."""
    from deniable.serve.catalogue import Catalogue

    with show_passes("verifying and preparing"), expect_passes(1):
        catalogue = Catalogue.fix(offer)
        catalogue.prepare(catalogue.default)
        summary = offer.certify().summary()
    say(summary, err=True)
    return catalogue
