// Searches jobs and shows the history of one.
import { byId, element, fits, get, moment, post, row } from "./api.js";

let query, cursor = "", open = "", looked = 0;

// link returns a link to the history of a job.
export function link(id, text = id) {
  const button = element("button", text, "link");
  button.type = "button";
  button.addEventListener("click", () => act(() => show(id)));
  return button;
}

function line(j) {
  const button = link(j.id);
  const state = j.cancel_requested ? j.state + " (cancel requested)" : j.state;
  const tr = row(button, state, j.channel + ", " + j.priority, String(j.lab_id || "–"),
    j.attempts + " of " + (j.retry + 1), j.reason || "–", moment(j.ended_ms || j.started_ms || j.scheduled_ms || j.created_ms));
  for (const i of [3, 4]) tr.cells[i].className = "number";
  tr.dataset.job = j.id;
  return tr;
}

let act = (f) => f();

async function page() {
  const answer = await get("jobs", { ...query, cursor });
  looked += answer.looked;
  cursor = answer.next;
  byId("jobs").tBodies[0].append(...answer.jobs.map(line));
  byId("more").hidden = !cursor;
  const n = byId("jobs").tBodies[0].rows.length;
  byId("found").textContent = n + (n === 1 ? " job" : " jobs") + " of " + looked.toLocaleString() + " checked" +
    (cursor ? "; there may be more" : "");
}

export async function search() {
  const id = byId("id").value.trim();
  if (id) return show(id);
  await list();
}

async function list() {
  query = {
    states: byId("kind").value, lab_id: byId("lab").value, channel: byId("channel").value,
    reason: byId("reason").value.trim(),
  };
  cursor = "";
  looked = 0;
  byId("jobs").tBodies[0].replaceChildren();
  await page();
}

function facts(j) {
  const list = element("dl");
  const add = (name, value) => {
    if (!value) return;
    const dd = element("dd");
    dd.append(value);
    list.append(element("dt", name), dd);
  };
  add("Job", j.id);
  add("State", j.state + (j.cancel_requested ? ", cancel requested" : ""));
  add("Lane", j.channel + ", " + j.priority);
  add("Task", j.task + "/" + j.task_type);
  add("Laboratory", String(j.lab_id || "none"));
  add("Attempts", j.attempts + " of " + (j.retry + 1) + (j.revivals ? ", revived: " + j.revivals : ""));
  add("Reason", j.reason);
  add("Last answer", j.http_status ? "HTTP " + j.http_status : "");
  const times = [
    ["Accepted", j.created_ms], ["Scheduled for", j.scheduled_ms], ["Due", j.due_ms], ["Begun", j.started_ms],
    ["Lease until", j.deadline_ms], ["Ended", j.ended_ms], ["Expires", j.expires_ms],
  ];
  for (const [name, ms] of times) if (ms) add(name, moment(ms));
  add("Window", j.window);
  if (j.parent) add("Reports on", link(j.parent));
  for (const c of j.callbacks || []) add("Tells when " + c.when, c.origin);
  if (j.untold) add("Told by", "no one: too many callbacks of the laboratory waited");
  else for (const id of j.told) add("Told by", link(id));
  if (j.sealed) add("Payload", "sealed");
  return list;
}

function attempts(list) {
  const table = element("table");
  const head = element("tr");
  for (const name of ["Attempt", "Begun", "Took", "Answer", "Reason"]) head.append(element("th", name));
  const took = (a) => (a.started_ms ? ((a.ended_ms - a.started_ms) / 1000).toFixed(1) + " s" : "–");
  table.append(head, ...list.map((a, i) => row(String(i + 1), moment(a.started_ms || a.ended_ms), took(a),
    a.http_status ? "HTTP " + a.http_status : "–", a.reason || "–")));
  return table;
}

export async function show(id, keepAnswer) {
  const j = await get("jobs/" + encodeURIComponent(id));
  open = j.id;
  const body = byId("life-body");
  body.replaceChildren(facts(j));
  if (j.history.length) body.append(attempts(j.history));
  for (const [name, text] of Object.entries(j.content || {})) {
    if (text) body.append(element("h3", name.replace("_", " ")), element("pre", text));
  }
  for (const button of byId("life").querySelectorAll("[data-act]")) {
    button.hidden = !fits[button.dataset.act].includes(j.state);
  }
  if (!keepAnswer) byId("life-answer").textContent = "";
  byId("life").hidden = false;
  byId("life").dataset.state = j.state;
  if (!keepAnswer) byId("life").focus();
}

const words = {
  retry: "It runs again in two minutes.", cancel: "It is cancelled.", sent: "It is finished.",
  not_sent: "It is failed, and can be retried.",
};

export function start(again) {
  act = again;
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); again(search); });
  byId("more").addEventListener("click", () => again(page));
  byId("life").addEventListener("click", (event) => {
    const action = event.target.dataset.act;
    if (!action) return;
    again(async () => {
      const answer = await post("jobs", { action, ids: [open] });
      byId("life-answer").textContent = answer.done ? words[action] : "Nothing was done: the job changed meanwhile.";
      await show(open, true);
      await list();
    });
  });
}
