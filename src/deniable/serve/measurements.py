"""``deniable measure`` for a table in memory: the report's page, computed in a process of its own, and no file."""

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from deniable.auditing import verify
from deniable.core.numbers import format_exact
from deniable.measure.report.inputs import SurveyPlan, build_survey_inputs
from deniable.measure.report.page import load_template, render_report
from deniable.measure.report.survey import survey_table
from deniable.registry.words import mechanism
from deniable.serve.bodies import read_body
from deniable.serve.jobs import JobResponse, JobSlot, Report
from deniable.serve.offers import WordOffer
from deniable.serve.problems import Problem
from deniable.serve.routes import describe_body, get_service
from deniable.serve.service import Service
from deniable.space import Space

MEASURING_SECONDS = 900.0
"""How long a measurement may take."""
_PLAN = SurveyPlan(rows=2_000)
_MAX_EPSILONS = 7
_MAX_NAME = 200


class MeasureBody(BaseModel):
    """A table to measure."""

    model_config = ConfigDict(extra="forbid", strict=True)

    texts: list[str | None] = Field(min_length=1, description="Private texts; null for none.")
    labels: list[str | None] | None = Field(None, description="Their classes, to measure what classifiers learn.")
    epsilons: list[float] | None = Field(
        None,
        min_length=1,
        max_length=_MAX_EPSILONS,
        description="Of those offered; needed unless the release is fixed.",
    )
    mechanism: str | None = Field(None, description="One of those offered; the default if left out.")
    table: str = Field("table.csv", max_length=_MAX_NAME, description="Name of the file, for the report.")
    column: str = Field("text", max_length=_MAX_NAME, description="Name of the column, for the report.")
    label: str | None = Field(None, max_length=_MAX_NAME, description="Name of the column of classes, for the report.")


@dataclasses.dataclass(frozen=True)
class MeasurementRequest:
    """A table to measure.

    Attributes:
        space: the words that releases draw from.
        mechanism: name of a word mechanism.
        epsilons: those to compare.
        texts: (n,) private texts.
        labels: (n,) classes; None to measure no utility.
        command: the command that measures the same, for the report.
        plan: sizes and seed.
    """

    space: Space
    mechanism: str
    epsilons: tuple[float, ...]
    texts: tuple[str | None, ...]
    labels: tuple[str | None, ...] | None
    command: str
    plan: SurveyPlan


def measure_table(request: MeasurementRequest, report: Report) -> dict[str, Any]:
    """Return the report of a table: ``page``, as HTML, and ``figures``.

    Args:
        request: the table, and what to measure.
        report: called with the name of each part of the work.

    Raises:
        InputError: the table or an epsilon cannot be used.
    """
    load_template()
    build_survey_inputs(request.texts, request.labels, None, request.plan)  # refuses early what cannot be measured
    mechanisms = []
    for epsilon in request.epsilons:
        report(f"calibrating and verifying epsilon {format_exact(epsilon)}")
        mechanisms.append(mechanism(request.mechanism, request.space, epsilon=epsilon))
        verify(mechanisms[-1])

    @contextmanager
    def report_stage(name: str) -> Iterator[None]:
        report(name)
        yield

    survey = survey_table(request.texts, mechanisms, labels=request.labels, plan=request.plan, progress=report_stage)
    return {"page": render_report(survey, request.command), "figures": survey.to_dict()}


def add_measurement_routes(router: APIRouter, command_options: Sequence[str] = ()) -> None:
    """Add the route that measures a table.

    Args:
        router: of the application.
        command_options: options of the vocabulary that the service was started with, for the report.
    """
    slot = JobSlot("A measurement", MEASURING_SECONDS)

    async def measure_texts(request: Request) -> Response:
        """Measure what each epsilon protects on a table, and what it costs; lines of JSON say how far it is."""
        service = get_service(request)
        body = await read_body(request, service, MeasureBody)
        measurement = await _build_request(service, body, command_options)
        return JobResponse(slot, measure_table, measurement)

    router.post("/v1/measure", openapi_extra=describe_body(MeasureBody))(measure_texts)


async def _build_request(service: Service, body: MeasureBody, command_options: Sequence[str]) -> MeasurementRequest:
    """Return what a process needs to measure.

    Raises:
        Problem: something is not offered.
    """
    if service.budgets is not None:
        raise Problem(
            422,
            "This service counts what callers spend, and a measurement shows private texts that nobody paid for: run "
            "deniable measure.",
        )
    epsilons = sorted(set(body.epsilons or [service.catalogue.default.epsilon]))
    choices = [service.catalogue.choose(body.mechanism, epsilon) for epsilon in epsilons]
    offer = await service.find_offer(None, None)
    if not isinstance(offer, WordOffer):
        raise Problem(422, "The service rewrites texts as a whole, which deniable compare measures.")
    options = ["--column", body.column]
    options += [] if body.labels is None or body.label is None else ["--label", body.label]
    options += ["--mechanism", choices[0].mechanism, "--epsilons", ",".join(map(format_exact, epsilons))]
    options += ["--limit", str(_PLAN.rows), *command_options, "--output", "measure.html"]
    return MeasurementRequest(
        space=offer.release.mechanism.space,
        mechanism=choices[0].mechanism,
        epsilons=tuple(epsilons),
        texts=tuple(body.texts),
        labels=None if body.labels is None else tuple(body.labels),
        command=shlex.join(["deniable", "measure", body.table, *options]),
        plan=_PLAN,
    )
