// The board follows a stream of what waits and shows how long each result waits. All texts of the laboratory are set as
// text, never as markup.
const againMs = 5000; // between two attempts to connect
const silentMs = 40000; // the stream says something every 15 seconds: after such a silence it is dead
const soonMs = 10 * 60 * 1000; // before the deadline

const $ = (id) => document.getElementById(id);
let items = [];
let clockSkew = 0; // the service's clock less this one's
let chosen = null;

function element(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

async function ask(path, body) {
  const options = { headers: { Accept: "application/json" }, credentials: "same-origin" };
  if (body) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    const problem = new Error(answer.message || `The server answered ${response.status}.`);
    problem.status = response.status;
    throw problem;
  }
  return answer;
}

const now = () => Date.now() + clockSkew;

function age(item) {
  const minutes = Math.max(0, Math.floor((now() - Date.parse(item.detected_at)) / 60000));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// A result is late once it was escalated or its deadline has passed, and soon late in the last minutes before.
function urgency(item) {
  if (item.escalations > 0) return "late";
  if (!item.due_at) return "calm"; // its clock has not started yet
  const left = Date.parse(item.due_at) - now();
  return left <= 0 ? "late" : left <= soonMs ? "soon" : "calm";
}

const urgencyText = { late: "overdue", soon: "due soon", calm: "in time" };

function valueText(p) {
  return `${p.parameter_name} ${p.raw_value}${p.unit ? " " + p.unit : ""}`;
}

function card(item) {
  const level = urgency(item);
  const button = element("button", `card ${level}`);
  button.type = "button";
  button.dataset.report = item.lab_report_id;
  button.append(element("span", "age", `${age(item)}, ${urgencyText[level]}`));
  button.append(element("strong", "", item.test_name));
  for (const p of item.critical_parameters) button.append(element("span", "value", valueText(p)));
  button.append(element("span", "", `${item.patient_name} (${item.lab_patient_id})`));
  const notes = [item.referral_name, item.org_name].filter(Boolean);
  if (item.criticalValues === "CALLOUT_ATTEMPTED") notes.push("tried, not reached");
  if (item.escalations > 0) notes.push(`escalated ${item.escalations} ×`);
  if (item.rerun_pending) notes.push("a rerun is pending");
  button.append(element("div", "soft", notes.join(" · ")));
  button.addEventListener("click", () => open(item));
  return button;
}

function show() {
  const focused = document.activeElement?.dataset?.report;
  const departments = new Map();
  for (const item of items) {
    const name = item.department_name || "Other";
    if (!departments.has(name)) departments.set(name, []);
    departments.get(name).push(item);
  }
  const board = $("board");
  board.replaceChildren();
  for (const [name, list] of [...departments].sort((a, b) => a[0].localeCompare(b[0]))) {
    board.append(element("h2", "", `${name} (${list.length})`));
    const cards = element("ul", "cards");
    for (const item of list) {
      const line = element("li");
      line.append(card(item));
      cards.append(line);
    }
    board.append(cards);
  }
  if (items.length === 0) board.append(element("p", "empty", "No critical result waits for a call."));
  if (focused) focusCard(focused);
}

function focusCard(report) {
  $("board").querySelector(`[data-report="${CSS.escape(report)}"]`)?.focus();
}

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

let stream = null;
let triedAt = 0; // when the last attempt to connect began, by this clock
let heardAt = 0; // when the stream last said something
let limited = false;

function connect() {
  stream?.close();
  triedAt = Date.now();
  stream = new EventSource("/operation/critical-callout/live");
  stream.addEventListener("worklist", (event) => {
    const list = JSON.parse(event.data);
    clockSkew = Date.parse(list.now) - Date.now();
    items = list.open;
    limited = list.limit_reached;
    show();
    heard();
  });
  stream.addEventListener("summary", (event) => {
    const sum = JSON.parse(event.data);
    const median = sum.median_minutes_to_callout === null ? "–" : `${sum.median_minutes_to_callout} min`;
    $("figures").textContent = `${sum.open} open, ${sum.overdue} overdue · last 30 days: ${sum.called} called, median ${median}, limit ${sum.limit_minutes} min`;
    heard();
  });
  stream.addEventListener("alive", heard);
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) refused();
    else cutOff(); // the browser connects again by itself
  });
}

function heard() {
  heardAt = Date.now();
  document.body.classList.remove("cut-off");
  say(limited ? "Only the first 500 are shown." : `Up to date at ${new Date().toLocaleTimeString()}`, limited);
}

function cutOff(why) {
  document.body.classList.add("cut-off");
  const shown = heardAt ? `What is shown is of ${new Date(heardAt).toLocaleTimeString()}; new results do not appear. ` : "";
  say(`Cut off: ${why ?? "the connection is lost."} ${shown}Trying again.`, true);
}

// refused asks why the stream was refused: an EventSource does not tell.
async function refused() {
  try {
    await ask("/operation/critical-callout/open");
    cutOff();
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) forget(problem);
    else cutOff(problem.message);
  }
  setTimeout(connect, againMs);
}

// forget takes everything of patients off the screen: there is no session any more.
function forget(problem) {
  items = [];
  $("board").replaceChildren();
  $("figures").textContent = "";
  if ($("dialog").open) $("dialog").close();
  document.body.classList.remove("cut-off");
  say(problem.status === 401 ? "Log in to see the critical results of your laboratory." : problem.message, true);
}

// A connection may die without a word, as when a cable is pulled.
function listen() {
  const silent = Date.now() - Math.max(heardAt, triedAt) > silentMs;
  if (silent && stream.readyState !== EventSource.CLOSED) {
    connect();
    cutOff();
  }
}

async function open(item) {
  chosen = item;
  $("dialog-title").textContent = item.test_name;
  $("dialog-patient").textContent = `${item.patient_name} (${item.lab_patient_id}), bill ${item.lab_bill_id}`;
  $("dialog-values").replaceChildren(...item.critical_parameters.map((p) =>
    element("li", "", `${valueText(p)} — critical ${p.critical_range}, reference ${p.reference_range}`)));
  $("problem").textContent = "";
  $("form").reset();
  $("person").value = item.referral_name;
  $("history").replaceChildren(element("li", "soft", "Loading…"));
  $("dialog").showModal();
  $("person").focus();
  try {
    const { logs } = await ask(`/report/bulk/critical-notification/logs?report_ids=${item.lab_report_id}`);
    const lines = logs.map((l) => element("li", "", [new Date(l.activityDate).toLocaleString(), l.labUserName, l.activityText,
      l.meta.recipients].filter(Boolean).join(" · ")));
    $("history").replaceChildren(...(lines.length ? lines : [element("li", "soft", "Nothing yet.")]));
  } catch (problem) {
    $("history").replaceChildren(element("li", "soft", problem.message));
  }
}

async function save(isDraft) {
  const person = $("person").value.trim();
  if (!isDraft && !person) {
    $("problem").textContent = "Say who was told.";
    $("person").focus();
    return;
  }
  const body = {
    is_draft: isDraft, lab_report_ids: [chosen.lab_report_id], recipients: [$("recipient").value],
    communication_methods: [$("method").value], critical_callout_comment: $("comment").value,
    read_back: $("readback").checked, notified_person: person,
  };
  if (isDraft) body.outcome = "unable_to_reach";
  $("complete").disabled = $("attempt").disabled = true;
  try {
    await ask(`/report/${chosen.bill_id}/critical/callout`, body);
    if (!isDraft) items = items.filter((i) => i.lab_report_id !== chosen.lab_report_id);
    $("dialog").close();
    show();
    say(isDraft ? "The attempt is saved; the result still waits." : "The callout is recorded.");
  } catch (problem) {
    $("problem").textContent = problem.message;
  }
  $("complete").disabled = $("attempt").disabled = false;
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save(false);
});
$("attempt").addEventListener("click", () => save(true));
$("close").addEventListener("click", () => $("dialog").close());
// The card may have been drawn anew since: who works with the keyboard goes on where the dialog was opened.
$("dialog").addEventListener("close", () => focusCard(chosen.lab_report_id));
setInterval(() => { if (!$("dialog").open && stream.readyState !== EventSource.CLOSED) show(); }, 30000); // ages
setInterval(listen, 1000);
connect();
