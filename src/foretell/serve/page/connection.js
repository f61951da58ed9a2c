// The live connection: server-sent events read with fetch, so that a refusal (401) and the latest id are in our hands, a
// connection that is open but silent counts as broken, and a page that nobody sees lets go of its connection (a browser
// has six for a server).

import { signIn } from "./api.js";
import { sentences } from "./format.js";

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 15_000;
//: The server sends `state` each second.
const LONGEST_SILENCE = 8000;
const UNSEEN = 60_000;

/** Splits a stream of text into server-sent events: blocks of lines `field: value`, ended by an empty line. */
export class EventParser {
  constructor(listener) {
    this.listener = listener;
    this.rest = "";
  }

  push(text) {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) this.line(line);
  }

  line(line) {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return undefined;
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    this.event ??= { type: "message", data: [], id: null };
    if (field === "event") this.event.type = value;
    else if (field === "data") this.event.data.push(value);
    else if (field === "id") this.event.id = value;
    return undefined;
  }

  dispatch() {
    const event = this.event;
    this.event = undefined;
    if (event?.data.length) this.listener({ ...event, data: event.data.join("\n") });
  }
}

async function refusal(response) {
  const answer = await response.json().catch(() => ({}));
  return answer.error
    ? sentences(answer.error, answer.hint)
    : `The server answered ${response.status} ${response.statusText}.`;
}

/**
 * Keeps one connection open. `on.event(type, data)` brings what the server sends; `on.status(status)` says how the connection
 * is: `{phase: "connecting" | "open" | "broken", since, retryAt, reason}`.
 */
export class Connection {
  constructor(on) {
    this.on = on;
    this.latest = null;
    this.wait = FIRST_WAIT;
    this.status = { phase: "connecting", since: Date.now(), retryAt: null, reason: "" };
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
  }

  visibilityChanged() {
    clearTimeout(this.unseen);
    if (document.hidden) this.unseen = setTimeout(() => this.rest(), UNSEEN);
    else this.retry();
  }

  /** Ends the connection until somebody looks again; it goes on where it was. */
  rest() {
    this.resting = true;
    this.controller?.abort();
  }

  async start() {
    for (;;) {
      await this.attempt();
      await this.pause();
    }
  }

  /** Ends the wait for the next attempt. */
  retry() {
    this.wake?.();
  }

  /** Numbers of an earlier run of the service mean nothing to this one. */
  forget() {
    this.latest = null;
  }

  change(phase, details = {}) {
    const since = phase === this.status.phase ? this.status.since : Date.now();
    this.status = { phase, since, retryAt: null, reason: "", ...details };
    this.on.status(this.status);
  }

  async attempt() {
    this.reason = "";
    this.resting = false;
    const controller = new AbortController();
    this.controller = controller;
    try {
      const headers = { Accept: "text/event-stream" };
      if (this.latest !== null) headers["Last-Event-ID"] = this.latest;
      this.guard(controller);
      const response = await fetch("/api/live", { headers, signal: controller.signal, cache: "no-store" });
      if (response.status === 401) return signIn();
      if (response.ok) await this.read(response, controller);
      else this.reason = await refusal(response);
    } catch {
      // The status says so; the reason, if the server gave one, came before.
    } finally {
      clearTimeout(this.watchdog);
      controller.abort();
    }
    return undefined;
  }

  async read(response, controller) {
    const parser = new EventParser((event) => this.receive(event));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.guard(controller);
      parser.push(value);
    }
  }

  guard(controller) {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      this.reason = `The server has sent nothing for ${LONGEST_SILENCE / 1000} s.`;
      controller.abort();
    }, LONGEST_SILENCE);
  }

  receive({ type, data, id }) {
    if (id) this.latest = id;
    this.wait = FIRST_WAIT;
    if (this.status.phase !== "open") this.change("open");
    const content = JSON.parse(data);
    if (type === "gone") this.reason = sentences(content.reason);
    else this.on.event(type, content);
  }

  async pause() {
    if (this.resting) {
      this.change("connecting");
      await new Promise((resolve) => (this.wake = resolve));
      return;
    }
    const wait = this.wait * (0.8 + 0.4 * Math.random()); // clients of a restarted server do not all come at once
    this.wait = Math.min(this.wait * 1.7, LONGEST_WAIT);
    this.change("broken", { retryAt: Date.now() + wait, reason: this.reason });
    await new Promise((resolve) => {
      this.wake = resolve;
      setTimeout(resolve, wait);
    });
    this.wake = null;
  }
}
