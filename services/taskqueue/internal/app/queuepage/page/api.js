// API calls of the page. The token is stored only in this tab.
const KEY = "queue-admin-token";

export const byId = (id) => document.getElementById(id);

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) || "",
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

async function call(path, options = {}) {
  const headers = { ...options.headers };
  if (token.get()) headers.Authorization = "Bearer " + token.get();
  let answer;
  try {
    answer = await fetch("api/" + path, { ...options, headers, signal: AbortSignal.timeout(30000) });
  } catch {
    throw new Refused(0, "The process does not answer; the page asks again by itself.");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const text = [body.message, body.details].filter(Boolean).join(": ");
    throw new Refused(answer.status, text || "Status " + answer.status);
  }
  return body;
}

export const get = (path, query = {}) => call(path + "?" + new URLSearchParams(query));

// post adds the operator and the reason, which the service writes to its log.
export function post(path, body) {
  if (!byId("operator").value.trim()) {
    byId("operator").focus();
    throw new Refused(400, "Say who you are first, at the top right: it goes to the log.");
  }
  const who = { operator: byId("operator").value.trim(), ticket: byId("ticket").value.trim() };
  const headers = { "Content-Type": "application/json" };
  return call(path, { method: "POST", headers, body: JSON.stringify({ ...who, ...body }) });
}

// fits lists, for each action, the states of jobs to which it applies.
export const fits = {
  cancel: ["scheduled", "queued", "retrying", "started"], retry: ["failed"], delete: ["failed", "unknown"],
  sent: ["unknown"], not_sent: ["unknown"],
};

export function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

export function row(...cells) {
  const tr = element("tr");
  for (const cell of cells) {
    if (cell instanceof Node) { const td = element("td"); td.append(cell); tr.append(td); continue; }
    const number = typeof cell === "number";
    tr.append(element("td", number ? cell.toLocaleString() : cell, number ? "number" : ""));
  }
  return tr;
}

export function age(ms) {
  if (!ms) return "–";
  const s = ms / 1000;
  if (s < 10) return s.toFixed(1) + " s";
  if (s < 120) return Math.round(s) + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  if (s < 172800) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

export const moment = (ms) => (ms ? new Date(ms).toLocaleString(undefined, { hourCycle: "h23" }) : "–");
