"""The routes of the API, as API.md describes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from foretell.errors import ForetellError, InputError
from foretell.notify.row_encoder import encode_json
from foretell.serve.access import MOST_BODY, problem
from foretell.serve.event_stream import MOST_CLIENTS, LiveFeed
from foretell.serve.metrics import CONTENT_TYPE, metrics_text
from foretell.serve.recent_events import RecentEvents
from foretell.serve.records import StatementSource
from foretell.serve.service import PipelineService
from foretell.serve.statement_check import TypedText, error_view

#: The status of an error by its code; the others are 422.
_STATUSES = {
    "unknown-subscription": 404,
    "pipeline-ended": 409,
    "not-changed": 409,
    "busy": 503,
    "busy-trial": 503,
    "trial-deadline": 504,
    "trial-failed": 503,
    "read-only": 403,
    "bad-request": 400,
}
_MOST_LIMIT, _LIMIT = 500, 50


class JsonText(Response):
    """JSON that any value of an event can be part of."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encode_json(content).encode("utf-8", "surrogatepass")


def failure(error: ForetellError, text: str = "") -> Response:
    """The answer where something is refused; of a text with its errors."""
    status = _STATUSES.get(error.code, 422)
    more = {"errors": [error_view(error, text)]} if text else {}
    return problem(status, error.message, error.hint, **more)


class PipelineApi:
    """The handlers of the API of one service."""

    def __init__(self, service: PipelineService) -> None:
        self._service = service
        self._recorder = service.recorder

    def router(self) -> APIRouter:
        router = APIRouter()
        gets: dict[str, Callable[..., Any]] = {
            "/api/state": self.state,
            "/api/live": self.live,
            "/api/notifications": self.notifications,
            "/api/forecasts": self.forecasts,
            "/api/statements/{name:path}/automaton": self.automaton,
            "/api/statements/{name:path}/partial-matches": self.partial_matches,
            "/api/late": self.late,
            "/api/quarantine": self.quarantine,
            "/healthz": self.health,
            "/readyz": self.readiness,
            "/metrics": self.metrics,
        }
        for path, handler in gets.items():
            router.add_api_route(path, handler, methods=["GET"], response_model=None)
        router.add_api_route("/api/check", self.check, methods=["POST"], response_model=None)
        router.add_api_route("/api/try", self.try_statements, methods=["POST"], response_model=None)
        router.add_api_route("/api/statements", self.add, methods=["POST"], response_model=None)
        router.add_api_route("/api/statements/{name:path}", self.change, methods=["PUT"], response_model=None)
        router.add_api_route("/api/statements/{name:path}", self.remove, methods=["DELETE"], response_model=None)
        return router

    # ── what there is ──

    async def state(self) -> Response:
        return JsonText(self._recorder.state())

    async def live(self, request: Request) -> Response:
        if self._service.clients >= MOST_CLIENTS:
            return problem(503, f"{MOST_CLIENTS} clients listen already", "close another page")
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        last = self._recorder.last_number
        if after is not None and _is_number(after):
            last = min(int(after), last)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(LiveFeed(self._service, last).events(), 200, headers, "text/event-stream")

    async def notifications(self, request: Request) -> Response:
        before = request.query_params.get("before")
        if before is not None and not _is_number(before):
            return problem(400, f"before: expected the number of a notification, found '{before[:100]}'")
        rows, more = self._recorder.notifications(
            _limit(request),
            None if before is None else int(before),
            _names(request, "statement"),
            _names(request, "kind"),
        )
        return JsonText({"rows": rows, "more": more})

    async def forecasts(self, request: Request) -> Response:
        return JsonText({"rows": self._recorder.forecasts(_names(request, "statement"))})

    async def automaton(self, name: str) -> Response:
        return await self._called(lambda: self._service.pipeline.automaton(name))

    async def partial_matches(self, name: str, request: Request) -> Response:
        limit = _limit(request)
        return await self._called(lambda: self._service.pipeline.partial_matches(name, limit))

    async def late(self, request: Request) -> Response:
        rows, totals = self._recorder.late_events(_limit(request)), self._recorder.side_totals
        return JsonText({"rows": rows, "total": totals["late"]})

    async def quarantine(self, request: Request) -> Response:
        rows, totals = self._recorder.bad_events(_limit(request)), self._recorder.side_totals
        return JsonText({"rows": rows, "total": totals["quarantined"]})

    async def health(self) -> Response:
        state = {"status": self._recorder.status}
        if self._recorder.error is not None:
            return JsonText({**state, **self._recorder.error}, 503)
        return JsonText(state)

    async def readiness(self) -> Response:
        is_ready = self._recorder.ready and self._recorder.status in ("running", "finished")
        if is_ready:
            return JsonText({"status": self._recorder.status})
        error = self._recorder.error or {"error": "the pipeline has not started yet", "hint": ""}
        return JsonText({"status": self._recorder.status, **error}, 503)

    async def metrics(self) -> Response:
        return Response(metrics_text(self._service), media_type=CONTENT_TYPE)

    async def _called(self, run: Callable[[], dict[str, Any]]) -> Response:
        try:
            return JsonText(await self._service.call(run))
        except ForetellError as error:
            return failure(error)

    # ── statements ──

    async def check(self, request: Request) -> Response:
        try:
            typed = await self._typed(request)
        except InputError as error:
            return failure(error)
        errors = await asyncio.to_thread(typed.errors)
        findings: list[dict[str, Any]] = []
        if not errors:
            answer = await self._service.checks.findings(typed.program())
            findings = typed.findings(answer.get("findings", ()))
        return JsonText({"ok": not errors, "errors": errors, "findings": findings})

    async def try_statements(self, request: Request) -> Response:
        try:
            typed = await self._typed(request)
            recent = self._service.recent
            if recent is None:
                message = "this engine keeps no events to try statements on"
                raise InputError("not-changed", message, hint="use --engine embedded where that can run the pipeline")
            errors = await asyncio.to_thread(typed.errors)
            if errors:
                return problem(422, errors[0]["message"], errors[0]["hint"], errors=errors)
            return JsonText(await self._trial(typed, recent))
        except ForetellError as error:
            return failure(error)

    async def _trial(self, typed: TypedText, recent: RecentEvents) -> dict[str, Any]:
        tables, since = recent.tables()
        wanted = {name: tables[name] for name in typed.read_streams if name in tables}
        if len(wanted) < len(typed.read_streams) or not wanted:
            note = "no events of its streams have come in the last hour of event time"
            return {"rows": [], "counts": {}, "events": 0, "from": None, "to": None, "seconds": 0.0, "note": note}
        program = typed.program()
        times = {name: recent.time_columns[name] for name in wanted}
        request = {
            "text": program,
            "names": typed.names,
            "since": since,
            "times": times,
            "tables": {name: str(path) for name, path in self._service.tables.items() if f"{name}" in program},
            "model": self._service.model,
        }
        answer = await self._service.trials.run(request, wanted)
        if "error" in answer:
            raise InputError(answer["code"], answer["error"], hint=answer["hint"])
        notes = answer.pop("notes")
        total = answer.pop("total")
        if total > len(answer["rows"]):
            notes.append(f"the last {len(answer['rows'])} of {total:,} rows")
        if recent.forgot:
            notes.append("the hour has more events than are kept: only the latest of them were tried")
        return {**answer, "note": "; ".join(notes)}

    async def add(self, request: Request) -> Response:
        return await self._changed(request, lambda typed: self._service.pipeline.subscribe(typed.text))

    async def change(self, name: str, request: Request) -> Response:
        return await self._changed(request, lambda typed: self._service.pipeline.replace(name, typed.text), name)

    async def remove(self, name: str) -> Response:
        try:
            self._require_change(name)
            await self._service.call(lambda: self._service.pipeline.unsubscribe(name))
        except ForetellError as error:
            return failure(error)
        return JsonText({"state": self._recorder.state()})

    async def _changed(
        self, request: Request, change: Callable[[TypedText], None], name: str | None = None
    ) -> Response:
        text = ""
        try:
            self._require_change(name)
            typed = await self._typed(request, name)
            text = typed.text
            errors = await asyncio.to_thread(typed.errors)
            if errors:
                return problem(422, errors[0]["message"], errors[0]["hint"], errors=errors)
            await self._service.call(lambda: change(typed))
        except ForetellError as error:
            return failure(error, text)
        return JsonText({"state": self._recorder.state()})

    def _require_change(self, name: str | None) -> None:
        if self._recorder.read_only:
            raise InputError("read-only", "this service is read-only", hint="start it without --read-only")
        if self._recorder.change_note:
            raise InputError("not-changed", "this pipeline takes no changes", hint=self._recorder.change_note)
        if name is not None and name not in self._recorder.statements:
            raise InputError("unknown-subscription", f"there is no statement '{name}'")

    async def _typed(self, request: Request, changed: str | None = None) -> TypedText:
        """The text of a request, among the statements of now."""
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise InputError("bad-request", "the request is not JSON", hint='send {"text": "SUBSCRIBE ..."}') from None
        if not isinstance(body, dict) or not isinstance(body.get("text"), str):
            raise InputError("bad-request", "the request has no text", hint='send {"text": "SUBSCRIBE ..."}')
        replaced = body.get("replaces", changed) if changed is None else changed
        statements: dict[str, StatementSource] = dict(self._recorder.statements)
        return TypedText(body["text"], statements, dict(self._recorder.streams), replaced)


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "")
    return min(max(1, int(text)), _MOST_LIMIT) if _is_number(text) else _LIMIT


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19  # a longer one may take long to convert


def _names(request: Request, parameter: str) -> list[str]:
    """Names in a parameter that may be repeated, or have several with commas."""
    given = request.query_params.getlist(parameter)
    return [name for part in given for name in part.split(",") if name]


def not_found(request: Request, _: Exception) -> Response:
    return JSONResponse({"error": f"there is nothing at {request.url.path}", "hint": ""}, 404)


def not_allowed(request: Request, _: Exception) -> Response:
    return JSONResponse({"error": f"{request.url.path} does not take {request.method}", "hint": ""}, 405)


def too_long(_: Request, __: Exception) -> Response:
    return problem(413, f"a request has at most {MOST_BODY:,} bytes")


def broken(request: Request, error: Exception) -> Response:
    message = f"the service failed to answer: {type(error).__name__}"
    return JSONResponse({"error": message, "hint": "its log says more"}, 500)
