// Functions that all pages of the public listener share: requests to the REST API, DOM elements, and times in the laboratory's
// zone.

// element creates a DOM element with a class ("" for none) and children. Data of the laboratory is always passed as a string,
// which the browser inserts as text and never as markup.
export function element(name, className, ...content) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...content);
  return e;
}

export function link(href, text, className = "") {
  const a = element("a", className, text);
  a.href = href;
  return a;
}

// currentVisitor requests, once per page, the gateway's data about the visitor: {demo, anonymous, has_search,
// sign_out_url, name, role, id}. demo is true in a demonstration, where a visitor may choose the user. The result is {}
// when the request fails; the next call repeats it.
let visitorRequest;
export const currentVisitor = () => visitorRequest ??= fetch("/sign-in/person").then((r) => (r.ok ? r.json() : Promise.reject(r)))
  .catch(() => { visitorRequest = undefined; return {}; });

// toUserChoice navigates to the home page of the demonstration. That page redirects back to this one after the visitor chose a
// user. The returned promise never settles, so that the caller does not continue on a page that is being left.
export function toUserChoice() {
  location.replace(`/?to=${encodeURIComponent(location.pathname + location.search)}`);
  return new Promise(() => {});
}

// toLogIn leaves the page of a demonstration when the visitor has to log in. Elsewhere the page shows the error.
export async function toLogIn(problem) {
  if (problem.status === 401 && location.pathname !== "/" && (await currentVisitor()).demo) await toUserChoice();
}

// request sends a GET request, or a POST request with a JSON body if body is not undefined, and returns the parsed JSON response.
// For any other status than 2xx it throws an Error whose message can be shown to the user, with the properties status (0 without a whole
// response of the server) and response (the parsed JSON). An AbortError of the caller's signal is passed on.
export async function request(path, body, options = {}) {
  if (body !== undefined) {
    options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...options };
  }
  let response, content;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
    content = await response.text();
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw Object.assign(new Error("The server cannot be reached. Try again when the network is back."), { status: 0 });
  }
  const result = parsed(content);
  if (response.ok && result) return result;
  if (response.ok) throw Object.assign(new Error("The response of the server cannot be read. Log in again, then try again."), { status: 0 });
  await toLogIn(response);
  const text = response.status === 401 ? "You are not logged in. Log in to the platform in this browser."
    : result?.message || `The request failed with status ${response.status}. Try again.`;
  throw Object.assign(new Error(text), { status: response.status, response: result ?? {} });
}

// parsed returns the value of a JSON text, or null if the text is none, for example the login page of a proxy.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// onlyOnce returns a function that sends a POST request like request, with an idempotency key. If the last request got no response and is sent
// again, it has the same key, so that the server executes it once.
export function onlyOnce() {
  let last = {}; // {sent, key} of a request without a response
  return async (path, body) => {
    const sent = path + JSON.stringify(body);
    if (last.sent !== sent) last = { sent, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
    try {
      const result = await request(path, body, { headers: { "Content-Type": "application/json", "Idempotency-Key": last.key } });
      last = {};
      return result;
    } catch (problem) {
      if (problem.status >= 400 && problem.status < 500) last = {};
      throw problem;
    }
  };
}

// All times are shown in the 24-hour format and in the time zone that inZone has set, by default the browser's.
let timeZone;
export const inZone = (name) => { timeZone = name || undefined; };

// clock formats the time of day with seconds, moment the date and time, and minute "HH:MM" as <input type="time"> expects it.
export const clock = (date) => date.toLocaleTimeString(undefined, { timeStyle: "medium", hourCycle: "h23", timeZone });
export const moment = (when) => new Date(when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone });
export const minute = (date) => date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone });

// remember stores a choice of this device's user, and remembered returns it, or null if there is none.
export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch { /* storage is disabled: the choice lasts as long as the page */ }
}

export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
