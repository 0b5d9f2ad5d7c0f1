// The board asks for what waits every few seconds and shows how long each result waits. All texts of the laboratory are
// set as text, never as markup.
const everyMs = 5000;
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
  if (focused) board.querySelector(`[data-report="${CSS.escape(focused)}"]`)?.focus();
}

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

async function refresh() {
  try {
    const [list, sum] = await Promise.all([ask("/operation/critical-callout/open"), ask("/operation/critical-callout/summary")]);
    clockSkew = Date.parse(list.now) - Date.now();
    items = list.open;
    show();
    const median = sum.median_minutes_to_callout === null ? "–" : `${sum.median_minutes_to_callout} min`;
    $("figures").textContent = `${sum.open} open, ${sum.overdue} overdue · last 30 days: ${sum.called} called, median ${median}, limit ${sum.limit_minutes} min`;
    say(list.limit_reached ? "Only the first 500 are shown." : `Up to date at ${new Date().toLocaleTimeString()}`, list.limit_reached);
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) { // without a session nothing of a patient stays on the screen
      items = [];
      $("board").replaceChildren();
      $("figures").textContent = "";
      if ($("dialog").open) $("dialog").close();
      say(problem.status === 401 ? "Log in to see the critical results of your laboratory." : problem.message, true);
    } else {
      show();
      say(`Not up to date: ${problem.message} Trying again.`, true);
    }
  }
  setTimeout(refresh, everyMs);
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
setInterval(() => { if (!$("dialog").open) show(); }, 30000); // ages
refresh();
