"""The files of the page, and the login form."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, RedirectResponse, Response

from foretell.serve.access import COOKIE, AccessPolicy, problem

#: A wrong token takes so long to refuse, so that guessing takes long.
WRONG_SECONDS = 0.5

FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
_HTML = "text/html; charset=utf-8"


def page_router(policy: AccessPolicy) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    async def index() -> Response:
        return _file("index.html", _HTML)

    @router.get("/assets/{name:path}")
    async def asset(name: str) -> Response:
        kind = _TYPES.get(Path(name).suffix)
        return problem(404, f"there is no file '{name}'") if kind is None else _file(name, kind)

    @router.get("/login")
    async def login_form() -> Response:
        return RedirectResponse("/", 303) if policy.token is None else _file("login.html", _HTML)

    @router.post("/login")
    async def login(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        if not policy.knows(form.get("token", [""])[0]):
            await asyncio.sleep(WRONG_SECONDS)
            return RedirectResponse("/login?wrong=1", 303)
        answer = RedirectResponse("/", 303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, policy.cookie, httponly=True, samesite="strict", secure=secure, path="/")
        return answer

    @router.post("/logout")
    async def logout() -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")
        return answer

    return router


def _file(name: str, kind: str) -> Response:
    """A file of the page, and nothing outside of its folder."""
    path = (FOLDER / name).resolve()
    if not path.is_relative_to(FOLDER.resolve()) or not path.is_file():
        return problem(404, f"there is no file '{name}'")
    return FileResponse(path, media_type=kind, headers={"cache-control": "no-cache"})
