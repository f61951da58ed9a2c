"""A real `foretell serve` in a process of its own with a folder of events, and the browser that looks at its page."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

#: A test that looks at a picture keeps it here.
ARTEFACTS = Path(__file__).parents[2] / "artifacts" / "serve"

EVIL_IMAGE = "<img src=x onerror=window.broken=1>"
EVIL_SCRIPT = "<script>window.broken=1</script>"

STATEMENTS = """
STREAM logins (event STRING, time TIMESTAMP, ip STRING, status STRING, agent STRING) TIME time ID event LATE BY 2 s;

SUBSCRIBE guess FROM logins PER ip
MATCH  fail , ok
DEFINE fail AS status = 'denied', ok AS status = 'success'
RETURN ok.agent AS agent;

SUBSCRIBE attack FROM logins PER ip
MATCH  s1 ; s2 ; s3
DEFINE s1, s2 AS status = 'denied', s3 AS status = 'success'
WITHIN 5 min
AFTER MATCH CONSUME
FORECAST WITHIN 4 EVENTS ABOVE 0.6;

SUBSCRIBE silent FROM logins PER ip MATCH !any WITHIN 10 min;

CORRELATE both FROM logins PER ip
DO repeat{ push('both'){ do{ accumulate{bad, good} } unless{ gone } } }
DEFINE bad AS status = 'denied', good AS status = 'success', gone AS status = 'gone';
"""

PIPELINE = """
statements = "watch.ftl"
checkpoint = "checkpoint"

[streams.logins]
format = "json"
path = "logins"
"""

START = datetime(2026, 3, 1, 10, 0, 0, tzinfo=UTC)
_START_SECONDS, _STOP_SECONDS = 240, 30


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class PageServerProcess:
    """`foretell serve` on a folder to which events are appended."""

    folder: Path
    arguments: tuple[str, ...] = ()
    statements: str = STATEMENTS
    port: int = field(default_factory=free_port)
    events: int = 0
    #: Seconds of event time so far.
    clock: float = 0.0
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        (self.folder / "logins").mkdir(parents=True, exist_ok=True)
        (self.folder / "watch.ftl").write_text(self.statements, encoding="utf-8")
        (self.folder / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # ── the process ──

    def start(self) -> None:
        command = [sys.executable, "-m", "foretell.cli", "serve", "pipeline.toml", "--port", str(self.port)]
        with (self.folder / "serve.log").open("ab") as log:
            self.process = subprocess.Popen([*command, *self.arguments], cwd=self.folder, stdout=log, stderr=log)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, self.log
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                if answer.status == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"not ready after {_START_SECONDS} s:\n{self.log}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    @property
    def log(self) -> str:
        return (self.folder / "serve.log").read_text(encoding="utf-8", errors="replace")

    # ── events ──

    def append(self, lines: Iterable[str]) -> None:
        path = self.folder / "logins" / "events.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, "".join(f"{line}\n" for line in lines).encode())
        finally:
            os.close(descriptor)

    def log_in(self, *logins: tuple[str, str], agent: str = "browser", step: float = 1.0) -> None:
        """Events `(ip, status)`, so many seconds of event time apart."""
        self.append(self.login_lines(logins, agent, step))

    def login_lines(self, logins: Iterable[tuple[str, str]], agent: str, step: float) -> Iterator[str]:
        for ip, status in logins:
            self.events += 1
            self.clock += step
            moment = START + timedelta(seconds=self.clock)
            row = {"event": f"e{self.events}", "time": moment.isoformat(), "ip": ip, "status": status, "agent": agent}
            yield json.dumps(row)

    def pass_time(self) -> None:
        """Events of a key of their own, behind which the watermark passes all before them."""
        self.log_in(*(("192.0.2.9", "none"),) * 5)

    def come_late(self, ip: str) -> None:
        self.append(
            [json.dumps({"event": "old", "time": START.isoformat(), "ip": ip, "status": "denied", "agent": "x"})]
        )

    def break_in(self, ip: str, agent: str = "browser") -> None:
        """A failed login and then a success: a match of `guess`."""
        self.log_in((ip, "denied"), (ip, "success"), agent=agent)

    def practice(self, rounds: int = 40) -> None:
        """Enough of each way that an automaton can take for forecasts to begin."""
        for number in range(rounds):
            ip = f"10.0.0.{number % 4}"
            ways = [("denied", "denied", "success"), ("denied", "other", "denied", "other"), ("other", "success")]
            self.log_in(*((ip, status) for status in ways[number % 3]))
        self.pass_time()

    # ── the API ──

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=20) as answer:
            return json.load(answer)

    def wait_for(self, kind: str, number: int, statement: str = "guess", seconds: float = 240) -> None:
        """Until a statement has given so many notifications of a kind; the first ones may wait for kernels."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            state = self.get("/api/state")
            counts: Mapping[str, int] = {each["name"]: each["counts"][kind] for each in state["statements"]}
            if counts[statement] >= number:
                return
            time.sleep(0.1)
        raise AssertionError(f"{counts} after {seconds} s\n{self.log}")

    def wait_for_asides(self, late: int, quarantined: int, seconds: float = 60) -> None:
        """Until so many events are set aside."""
        deadline, totals = time.monotonic() + seconds, (0, 0)
        while time.monotonic() < deadline:
            totals = tuple(self.get(f"/api/{kind}")["total"] for kind in ("late", "quarantine"))
            if totals == (late, quarantined):
                return
            time.sleep(0.1)
        raise AssertionError(f"{totals} after {seconds} s\n{self.log}")


@contextlib.contextmanager
def served(folder: Path, *arguments: str, **settings: Any) -> Iterator[PageServerProcess]:
    server = PageServerProcess(folder, arguments, **settings)
    try:
        server.start()
        yield server
    finally:
        server.stop()


class Network:
    """A port whose connections lead to another one, until they are cut."""

    def __init__(self, target: int) -> None:
        self._target, self._whole = target, True
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        self._whole = False
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def mend(self) -> None:
        self._whole = True

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                if not self._whole:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                self._open += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=_carry, args=(source, sink), daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(65536):
            sink.sendall(content)
        sink.shutdown(socket.SHUT_WR)


# ── the browser ──


@dataclass(frozen=True)
class Look:
    """A window: its width, and whether its reader wants dark."""

    name: str
    width: int
    height: int
    scheme: str

    @property
    def is_phone(self) -> bool:
        return self.width < 500


LOOKS = (
    Look("light", 1400, 900, "light"),
    Look("dark", 1400, 900, "dark"),
    Look("phone", 360, 740, "light"),
    Look("phone-dark", 360, 740, "dark"),
)


class WatchedPage:
    """A page with what its console said."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def open(self, server: PageServerProcess, view: str = "overview") -> Page:
        self.page.goto(f"{server.url}/#/{view}")
        self.page.locator("#health[data-health=running]").wait_for()
        return self.page


@contextlib.contextmanager
def window(browser: Browser, look: Look = LOOKS[0], **settings: Any) -> Iterator[WatchedPage]:
    size: Any = {"width": look.width, "height": look.height}
    scheme: Any = look.scheme
    context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", **settings)
    context.set_default_timeout(15_000)
    try:
        yield WatchedPage(context)
    finally:
        context.close()


def serious_faults(page: Page) -> list[str]:
    """What axe finds that keeps people from using the page."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{fault['id']} ({fault['impact']}): {[node['target'] for node in fault['nodes']]}"
        for fault in violations
        if fault["impact"] in ("serious", "critical")
    ]


def picture(page: Page, name: str) -> Path:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path


def sideways_scroll(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
