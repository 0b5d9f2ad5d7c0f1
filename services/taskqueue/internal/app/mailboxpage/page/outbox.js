"use strict";
// Shows the mailbox. All message text is set with textContent; the HTML of e-mails is shown in a frame without scripts.
const byId = (id) => document.getElementById(id);
const list = byId("list"), detail = byId("detail"), status = byId("status");
let messages = [], selected = "", shown = "";

const keyOf = (m) => m.job_id + "/" + m.attempt + "/" + m.at_ms;

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function item(m) {
  const li = element("li");
  li.id = "m-" + keyOf(m).replace(/\W/g, "-");
  li.setAttribute("role", "option");
  li.setAttribute("aria-selected", String(keyOf(m) === selected));
  const top = element("div", undefined, "row");
  top.append(element("strong", m.channel), element("span", new Date(m.at_ms).toLocaleTimeString(undefined, { hourCycle: "h23" }), "dim"));
  const bottom = element("div", undefined, "row dim");
  const delivered = m.outcome === "delivered";
  const outcome = element("span", delivered ? "delivered" : "failed", delivered ? "good" : "bad");
  bottom.append(element("span", (m.to || []).join(", "), "title"), outcome);
  li.append(top, element("div", m.title || m.body, "title"), bottom);
  li.addEventListener("click", () => select(keyOf(m)));
  return li;
}

function section(title, node) { detail.append(element("h3", title), node); }

function body(m) {
  if (m.format === "html") {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "");
    frame.title = "Rendered message";
    frame.srcdoc = m.body;
    return frame;
  }
  let text = m.body;
  if (m.format === "json") {
    try { text = JSON.stringify(JSON.parse(m.body), null, 2); } catch { /* shown as it is */ }
  }
  return element("pre", text);
}

function show(m) {
  if (shown === (m && keyOf(m))) return;
  shown = m && keyOf(m);
  detail.replaceChildren();
  detail.hidden = !m;
  if (!m) return;
  detail.append(element("h2", m.title || m.kind));
  const facts = element("table");
  const rows = [
    ["To", (m.to || []).join(", ")],
    ["Channel", m.channel + (m.kind ? " – " + m.kind : "")],
    ["Job", m.job_id + " (attempt " + m.attempt + ")"],
    ["At", new Date(m.at_ms).toLocaleString(undefined, { hourCycle: "h23" })],
    ["Outcome", m.outcome + (m.http_status ? " (HTTP " + m.http_status + ")" : "")],
  ];
  for (const note of m.notes || []) rows.push(["Note", note]);
  if (m.signature) rows.push(["Signature", m.signature]);
  for (const [name, value] of rows) {
    const tr = element("tr");
    tr.append(element("td", name), element("td", value));
    facts.append(tr);
  }
  detail.append(facts);
  if (m.body) section("Message", body(m));
  if (m.headers?.length) {
    section("Headers", element("pre", m.headers.map((h) => h.name + ": " + h.value).join("\n")));
  }
  if (m.raw) section("As sent", element("pre", m.raw));
  if (m.curl) {
    section("Repeat by hand", element("pre", m.curl));
    const copy = element("button", "Copy");
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(m.curl);
      status.textContent = "Copied";
    });
    detail.append(copy);
  }
}

function select(key) {
  selected = key;
  for (const li of list.children) li.setAttribute("aria-selected", "false");
  const m = messages.find((one) => keyOf(one) === key);
  if (m) {
    const li = byId("m-" + key.replace(/\W/g, "-"));
    li.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", li.id);
    li.scrollIntoView({ block: "nearest" });
  }
  show(m);
}

function draw() {
  const top = list.scrollTop;
  list.replaceChildren(...messages.map(item));
  list.scrollTop = top;
  list.hidden = messages.length === 0;
  byId("empty").hidden = messages.length !== 0;
  if (messages.some((m) => keyOf(m) === selected)) return;
  selected = "";
  show(undefined);
  if (messages.length) select(keyOf(messages[0]));
}

let last = "", loading; // the request in progress; a newer one cancels it, so that responses stay in order
async function load() {
  loading?.abort();
  const own = loading = new AbortController();
  const query = new URLSearchParams({ to: byId("to").value, channel: byId("channel").value });
  try {
    const answer = await fetch("messages?" + query, { signal: own.signal });
    const text = await answer.text();
    if (!answer.ok) throw new Error(JSON.parse(text).message);
    if (text !== last) { last = text; messages = JSON.parse(text).messages; draw(); }
    status.textContent = messages.length + (messages.length === 1 ? " message" : " messages");
  } catch (problem) {
    if (!own.signal.aborted) status.textContent = problem.message;
  } finally {
    if (loading === own) loading = undefined;
  }
}

list.addEventListener("keydown", (event) => {
  const at = messages.findIndex((m) => keyOf(m) === selected);
  const move = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: messages.length - 1 }[event.key];
  if (event.key === "Enter" && !detail.hidden) { detail.focus(); event.preventDefault(); }
  if (move === undefined || messages.length === 0) return;
  event.preventDefault();
  select(keyOf(messages[Math.max(0, Math.min(messages.length - 1, move))]));
});
byId("filter").addEventListener("submit", (event) => { event.preventDefault(); load(); });
byId("to").addEventListener("input", load);
byId("channel").addEventListener("change", load);
byId("clear").addEventListener("click", async () => {
  if (confirm("Forget all messages of the outbox?")) { await fetch("messages", { method: "DELETE" }); load(); }
});
setInterval(() => { if (byId("live").checked && !document.hidden && !loading) load(); }, 1500);
load();
