// A reader of server-sent events that reconnects after every error. An EventSource would stop at a status such as 503 and not report it.
// The module needs no page and also runs in Node.js.

const silentMs = 40000; // the connection counts as lost after this time without a byte; the server sends a comment every 15 s
const shortestPauseMs = 1000, longestPauseMs = 5000; // pause between two connection attempts
const longestWaitSeconds = 30; // upper limit of Retry-After

// follow reads the events of path until the returned function is called. It calls these functions if they are set:
// on.check(signal) for each accepted connection, whose events follow once the returned promise is fulfilled, and which
// is lost if it is rejected; on.open() after on.check; on.event(name, data) for each event, with its parsed JSON;
// on.lost(problem) for each connection that failed or ended. problem.message can be shown to the user. problem.status
// is the status of a refusal, 401 when the user must log in, and otherwise 0. After a loss the server first sends the
// events that it has kept.
export function follow(path, on, headers = {}) {
  let position = "", pauseMs = shortestPauseMs, closed = false, connection, silence;
  const call = (f, ...values) => f && queueMicrotask(() => closed || f(...values)); // an error of f does not end the connection

  function heard() {
    clearTimeout(silence);
    silence = setTimeout(() => connection.abort(), silentMs);
  }

  function dispatch(text) {
    let name = "message", data = "";
    for (const line of text.split("\n")) {
      const [, field, value] = /^(\w+): ?(.*)$/s.exec(line) ?? []; // comments match nothing
      if (field === "id") position = value;
      if (field === "event") name = value;
      if (field === "data") data += value;
    }
    if (/^(event|data):/m.test(text)) call(on.event, name, data ? JSON.parse(data) : null);
  }

  async function read() {
    connection = new AbortController();
    heard();
    const sent = { ...headers, Accept: "text/event-stream", ...(position && { "Last-Event-ID": position }) };
    const response = await fetch(path, { headers: sent, cache: "no-store", signal: connection.signal });
    if (!response.ok) throw await refusal(response);
    await on.check?.(connection.signal);
    connection.signal.throwIfAborted();
    pauseMs = shortestPauseMs;
    call(on.open);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the stream has ended");
      heard();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      events.forEach(dispatch);
    }
  }

  async function run() {
    while (!closed) {
      const problem = await read().catch((cause) => cause);
      clearTimeout(silence);
      if (closed) return;
      const unreachable = "The server cannot be reached.";
      call(on.lost, problem.status ? problem : Object.assign(new Error(unreachable), { status: 0 }));
      await new Promise((resolve) => { setTimeout(resolve, Math.max(pauseMs, problem.waitMs ?? 0)); });
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
    }
  }

  run();
  return () => {
    closed = true;
    connection.abort();
  };
}

async function refusal(response) {
  const { message } = await response.json().catch(() => ({}));
  const text = response.status === 401 ? "You are not logged in. Log in to the platform in this browser."
    : message || `The request failed with status ${response.status}.`;
  const seconds = Number(response.headers.get("Retry-After")); // NaN for a date, which is ignored because clocks differ
  const waitMs = Number.isFinite(seconds) ? 1000 * Math.min(seconds, longestWaitSeconds) : 0;
  return Object.assign(new Error(text), { status: response.status, waitMs });
}
