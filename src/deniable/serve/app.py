"""The application: routes, guard and errors around one catalogue of offers."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from deniable import __version__
from deniable.core.errors import InputError, make_parameter_error
from deniable.ledger import Ledger
from deniable.serve.bodies import describe_validation
from deniable.serve.budgets import CallerBudgets
from deniable.serve.catalogue import Catalogue
from deniable.serve.checks import add_check_routes
from deniable.serve.guard import HEALTH_PATH, Access, Guard, describe_failure
from deniable.serve.limits import Limits
from deniable.serve.measurements import add_measurement_routes
from deniable.serve.offers import WordOffer
from deniable.serve.page import PAGE_PATHS, add_page_routes
from deniable.serve.problems import Problem
from deniable.serve.routes import add_routes
from deniable.serve.service import Service
from deniable.text.release import Release

_LOGGER = logging.getLogger("deniable.serve")
_STATUS_DETAILS = {404: "There is no such path: see /openapi.json.", 405: "The path does not take this method."}


def create_app(
    offered: Catalogue | Release,
    *,
    access: Access | None = None,
    limits: Limits | None = None,
    ledger: Ledger | None = None,
    command_options: Sequence[str] = (),
    release_options: Sequence[str] = (),
) -> FastAPI:
    """Return the ASGI application of a service.

    Its laws are prepared when it starts; `deniable.serve.server.run_server` runs it with the limits of connections
    that an application cannot keep.

    Args:
        offered: a release, which is then fixed, or the catalogue of what requests may choose.
        access: who may send requests; None for anybody on this machine.
        limits: what is refused beyond; None for the defaults.
        ledger: counts what callers spend on a fixed release; None for nobody.
        command_options: options of the vocabulary, such as ``--space FILE``, with which a command does the same.
        release_options: options of the release, such as ``--unknown mask``, with which ``deniable privatize`` does.

    Raises:
        InputError: a release with a key or a public seed: noise is always fresh; or a ledger that cannot count it.
    """
    if isinstance(offered, Release):
        offered = Catalogue.fix(WordOffer(offered))
    if not isinstance(offered, Catalogue):
        raise make_parameter_error("create_app", "offered", "a Release or a Catalogue", type(offered).__name__)
    service = Service(offered, limits or Limits(), None if ledger is None else _count_callers(ledger, offered))

    @contextlib.asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(_log_failure)
        await asyncio.to_thread(offered.prepare, offered.default)
        try:
            yield
        finally:
            service.close()

    app = FastAPI(
        title="deniable",
        summary="Private text, and the proof.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
        lifespan=live,
        exception_handlers={
            Problem: _answer_problem,
            HTTPException: _answer_http_error,
            RequestValidationError: _answer_validation_error,
        },
    )
    app.state.service = service
    add_routes(app.router)
    add_page_routes(app.router, [*command_options, *release_options])
    add_check_routes(app.router)
    add_measurement_routes(app.router, command_options)
    app.add_middleware(Guard, service=service, access=access or Access(), public_paths=PAGE_PATHS | {HEALTH_PATH})
    return app


def _count_callers(ledger: Ledger, catalogue: Catalogue) -> CallerBudgets:
    """Return the budgets of callers, which are charged for the one release that is offered."""
    if not catalogue.is_fixed:
        raise InputError("A ledger counts one release: fix it, with --epsilon or --model on the command line.")
    return CallerBudgets(ledger, catalogue.prepare(catalogue.default).compute_cost())


def _log_failure(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what failed outside any request by type and place; asyncio would log what it says."""
    error = context.get("exception")
    _LOGGER.error("event loop: %s", "failure" if error is None else describe_failure(error))


async def _answer_problem(_: Request, error: Exception) -> Response:
    return error.to_response() if isinstance(error, Problem) else Problem(500, "The service failed.").to_response()


async def _answer_http_error(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    headers = getattr(error, "headers", None)
    return Problem(status, _STATUS_DETAILS.get(status, "The request was refused."), headers).to_response()


async def _answer_validation_error(_: Request, error: Exception) -> Response:
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    return Problem(422, describe_validation(errors) if errors else "The request is not valid.").to_response()
