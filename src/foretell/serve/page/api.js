// Requests to the server. A refusal becomes a RequestError with the server's message and hint.

export class RequestError extends Error {
  constructor(message, hint, status, body) {
    super(message);
    this.hint = hint ?? "";
    this.status = status;
    this.body = body ?? {};
  }
}

const UNREACHABLE = "The server does not answer.";

async function bodyOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

export function signIn() {
  location.assign(`/login${location.hash}`);
}

async function request(method, path, { body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Foretell"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(path, { method, headers, body: text, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(UNREACHABLE, "Check that foretell serve is running; this page tries again by itself.", 0);
  }
  if (response.status === 401) signIn();
  const answer = await bodyOf(response);
  if (response.ok) return answer;
  const message = answer.error ?? `The server answered ${response.status} ${response.statusText}.`;
  throw new RequestError(message, answer.hint, response.status, answer);
}

const query = (parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

const textOf = (text, replaces) => (replaces ? { text, replaces } : { text });

const statementPath = (name) => `/api/statements/${encodeURIComponent(name)}`;

export const api = {
  state: (options) => request("GET", "/api/state", options),
  notifications: (parameters, options) => request("GET", `/api/notifications${query(parameters)}`, options),
  forecasts: (statement, options) => request("GET", `/api/forecasts${query({ statement })}`, options),
  automaton: (name, options) => request("GET", `${statementPath(name)}/automaton`, options),
  partialMatches: (name, limit, options) =>
    request("GET", `${statementPath(name)}/partial-matches${query({ limit })}`, options),
  late: (limit, options) => request("GET", `/api/late${query({ limit })}`, options),
  quarantine: (limit, options) => request("GET", `/api/quarantine${query({ limit })}`, options),
  check: (text, replaces, options) => request("POST", "/api/check", { body: textOf(text, replaces), ...options }),
  try: (text, replaces, options) => request("POST", "/api/try", { body: textOf(text, replaces), ...options }),
  add: (text) => request("POST", "/api/statements", { body: { text } }),
  change: (name, text) => request("PUT", statementPath(name), { body: { text } }),
  remove: (name) => request("DELETE", statementPath(name)),
};
