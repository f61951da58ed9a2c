"""Who may use a service: tokens, hosts, origins, and the headers that protect the page."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers

from foretell.errors import InputError
from foretell.serve.access import AccessPolicy, is_loopback
from foretell.serve.server import bound_socket
from tests.serve.service_client import RISE, Client, Served, serving, wait_for, write_pipeline

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(write_pipeline(tmp_path_factory.mktemp("guarded")), token=TOKEN) as served:
        wait_for(lambda: served.service.recorder.ready)
        yield served


@pytest.fixture(scope="module")
def open_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(write_pipeline(tmp_path_factory.mktemp("open"))) as served:
        wait_for(lambda: served.service.recorder.ready)
        yield served


ROUTES = ("/api/state", "/api/live", "/api/notifications", "/api/late", "/metrics", "/api/statements/rise/automaton")


@pytest.mark.parametrize("path", ROUTES)
def test_without_the_token_nothing_is_told(guarded: Served, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "foretell=wrong"}, {"Authorization": TOKEN}):
        answer = guarded.client.get(path, **headers)
        assert (answer.status, set(answer.json)) == (401, {"error", "hint"})


def test_health_needs_no_token(guarded: Served) -> None:
    assert guarded.client.get("/healthz").json == {"status": "running"}
    assert guarded.client.get("/readyz").status == 200


def test_programs_send_the_token(guarded: Served) -> None:
    assert guarded.client.get("/api/state", Authorization=f"Bearer {TOKEN}").status == 200


def test_people_log_in(guarded: Served) -> None:
    client = guarded.client
    assert client.get("/").headers["location"] == "/login"
    assert client.get("/login").status == 200
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Foretell": None}
    wrong = client.request("POST", "/login", b"token=wrong", form)
    assert (wrong.status, wrong.headers["location"], "set-cookie" in wrong.headers) == (303, "/login?wrong=1", False)
    right = client.request("POST", "/login", f"token={TOKEN}".encode(), form)
    assert (right.status, right.headers["location"]) == (303, "/")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    logged_in = Client(client.url, {"Cookie": cookie.partition(";")[0]})
    assert logged_in.get("/api/state").status == 200
    assert logged_in.get("/").status == 200
    out = logged_in.request("POST", "/logout", headers=form)
    assert out.headers["location"] == "/login"
    assert 'foretell=""' in out.headers["set-cookie"]


def test_without_a_token_there_is_no_login(open_service: Served) -> None:
    assert open_service.client.get("/login").headers["location"] == "/"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "", "192.168.0.1"])
def test_other_hosts_are_refused(open_service: Served, host: str) -> None:
    """A name that resolves to this machine (DNS rebinding) is not its name."""
    answer = open_service.client.get("/api/state", Host=host)
    assert answer.status == 421
    assert "another host" in answer.json["error"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:8765"])
def test_names_of_this_machine_are_accepted(open_service: Served, host: str) -> None:
    assert open_service.client.get("/api/state", Host=host).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Foretell": None}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({}, 200),
    ],
)
def test_writes_come_from_the_page(open_service: Served, headers: dict[str, str | None], status: int) -> None:
    answer = open_service.client.request("POST", "/api/check", {"text": RISE.replace("rise", "again")}, headers)
    assert answer.status == status


def test_the_page_is_protected(open_service: Served) -> None:
    for path in ("/", "/api/state", "/nowhere", "/assets/nowhere.js"):
        headers = open_service.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/assets/../routes.py", "/assets/%2e%2e/routes.py", "/assets/..%2froutes.py", "/assets//etc/passwd"]
)
def test_files_outside_of_the_page_are_none(open_service: Served, path: str) -> None:
    answer = open_service.client.get(path)
    assert (answer.status, set(answer.json)) == (404, {"error", "hint"})


def test_long_requests_are_refused(open_service: Served) -> None:
    answer = open_service.client.request("POST", "/api/check", b"x" * (1024 * 1024 + 1))
    assert answer.status == 413


def test_long_requests_without_a_length_are_refused(open_service: Served) -> None:
    parts = urlsplit(open_service.client.url)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
    with closing(connection):
        parts_of_it = (b"x" * 65_536 for _ in range(17))
        connection.request("POST", "/api/check", parts_of_it, {"X-Foretell": "1"}, encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (413, b'{"error":"a request has at most 1,048,576 bytes","hint":""}')


def test_unknown_routes_are_json(open_service: Served) -> None:
    assert open_service.client.get("/api/nothing").json == {"error": "there is nothing at /api/nothing", "hint": ""}
    wrong = open_service.client.request("DELETE", "/api/state")
    assert (wrong.status, wrong.json["error"]) == (405, "/api/state does not take DELETE")


def test_a_port_in_use() -> None:
    with closing(bound_socket("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use") as caught:
            bound_socket("127.0.0.1", port)
    assert "--port 0" in caught.value.hint


def test_a_host_that_is_none() -> None:
    with pytest.raises(InputError, match="there is no such host"):
        bound_socket("nowhere.invalid", 0)
    with pytest.raises(InputError, match=r"cannot listen on 192\.0\.2\.1"):
        bound_socket("192.0.2.1", 0)


def test_loopback() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.1.2.3", "::1", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "192.168.0.1", "example.org", ""]))


def test_hosts_of_a_service_on_a_network() -> None:
    policy = AccessPolicy("0.0.0.0", TOKEN, ("watch.example",))
    assert all(map(policy.accepts_host, ["10.0.0.7:8765", "watch.example", "localhost:8765", "[fe80::1]"]))
    assert not any(map(policy.accepts_host, ["evil.example", None, ""]))
    assert not policy.allows(Headers({"cookie": f"foretell={TOKEN}"}))
    assert policy.allows(Headers({"cookie": f"foretell={policy.cookie}"}))


def test_the_socket_is_that_of_the_address() -> None:
    with closing(bound_socket("127.0.0.1", 0)) as listener:
        assert listener.family == socket.AF_INET
        assert listener.getsockname()[0] == "127.0.0.1"


def test_pages_are_found_in_a_folder_of_their_own(open_service: Served, tmp_path: Path) -> None:
    """The page itself is served, with its type."""
    page = open_service.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
