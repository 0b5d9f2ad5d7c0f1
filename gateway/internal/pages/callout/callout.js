// Board of the critical results that still need a callout, updated by an event stream, with the waiting time of each result. A
// dialog records callouts and attempts. Data of the laboratory is always inserted as text, never as markup.
import { request, clock, element, inZone, minute, moment } from "../assets/lab.js";
import { currentLogin, header } from "../assets/shell.js";
import * as draft from "./draft.js";

const reconnectMs = 5000; // between two connection attempts
const silentMs = 40000; // the connection counts as lost after this time without an event; the server sends one every 15 s
const soonMs = 10 * 60 * 1000; // "due soon" begins this long before the deadline

const $ = (id) => document.getElementById(id);
let items = []; // results that need a callout
let unclear = []; // values that the platform cannot evaluate
let corrected = []; // results that were called and then corrected
let unconfirmed = []; // critical values of reruns that are not in the report yet
let clockSkew = 0; // clock of the server minus clock of this device, in milliseconds
let chosen = null; // the result that the dialog shows
let saving = false;
let quietSince = null; // time since when no result needs a callout, or null
let wantedBill = Number(new URLSearchParams(location.search).get("bill")); // its card gets the focus once; 0: none
let known = null; // keys of the reports and critical parameters of the previous list, to detect new ones; null before the first

const now = () => Date.now() + clockSkew;

function age(item) {
  const minutes = Math.max(0, Math.floor((now() - Date.parse(item.detected_at)) / 60000));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// urgency returns "late" for a result that was escalated or whose deadline has passed, "soon" in the last minutes before the
// deadline, and otherwise "calm".
function urgency(item) {
  if (item.escalations > 0) return "late";
  if (!item.due_at) return "calm"; // the server has not set a deadline yet
  const left = Date.parse(item.due_at) - now();
  return left <= 0 ? "late" : left <= soonMs ? "soon" : "calm";
}

const urgencyOrder = ["late", "soon", "calm"]; // results of equal urgency keep the server's order, by deadline
const urgencyText = { late: "overdue", soon: "due soon", calm: "in time" };

function valueText(p) {
  return `${p.parameter_name} ${p.raw_value}${p.unit ? " " + p.unit : ""}`;
}

const patientOf = (one) => (one.lab_patient_id ? `${one.patient_name} (${one.lab_patient_id})` : one.patient_name);

function card(item) {
  const level = urgency(item);
  const button = element("button", `card ${level}`);
  button.type = "button";
  button.dataset.report = item.lab_report_id;
  button.append(element("span", "age", `${age(item)}, ${urgencyText[level]}`));
  button.append(element("strong", "", item.test_name));
  for (const p of item.critical_parameters) button.append(element("span", "value", valueText(p)));
  button.append(element("span", "", patientOf(item)));
  const notes = [level === "late" && departmentOf(item), item.referral_name, item.org_name].filter(Boolean);
  if (item.criticalValues === "CALLOUT_ATTEMPTED") notes.push("tried, not reached");
  if (item.escalations > 0) notes.push(`escalated ${item.escalations} ×`);
  if (item.next_reminder_at) notes.push(`next reminder ${moment(item.next_reminder_at)}`);
  if (item.rerun_pending) notes.push("a rerun is pending");
  button.append(element("div", "soft", notes.join(" · ")));
  if (item.notices_off) button.append(element("div", "off", "No one was notified: notifications are switched off."));
  button.addEventListener("click", () => open(item));
  return button;
}

// show lists the overdue results of all departments first, then the others by department.
function show() {
  const focused = document.activeElement?.dataset?.report;
  const only = filterOptions();
  const shown = items.filter((item) => !only || departmentOf(item) === only);
  const late = shown.filter((item) => urgency(item) === "late").sort((a, b) => Date.parse(a.detected_at) - Date.parse(b.detected_at));
  const departments = new Map();
  for (const item of shown.filter((item) => !late.includes(item))) {
    const name = departmentOf(item);
    if (!departments.has(name)) departments.set(name, []);
    departments.get(name).push(item);
  }
  const groups = [...departments].sort((a, b) => a[0].localeCompare(b[0]));
  if (late.length > 0) groups.unshift(["Overdue", late]);
  const board = $("board");
  board.replaceChildren();
  for (const [name, list] of groups) {
    board.append(element("h2", "", `${name} (${list.length})`));
    const cards = element("ul", "cards");
    for (const item of list.sort((a, b) => urgencyOrder.indexOf(urgency(a)) - urgencyOrder.indexOf(urgency(b)))) {
      const line = element("li");
      line.append(card(item));
      cards.append(line);
    }
    board.append(cards);
  }
  if (groups.length === 0) board.append(element("p", "empty", "No critical result waits for a call."));
  $("since").textContent = items.length === 0 && quietSince
    ? `No result has needed a callout since ${moment(quietSince)}.`
    : only && items.length > 0 ? `All departments: ${items.length} waiting.` : "";
  showSections(only);
  if (focused) focusCard(focused);
  if (wantedBill && known) focusBill();
}

// focusBill moves the focus to the first card of the bill that the address names.
function focusBill() {
  const item = items.find((one) => one.bill_id === wantedBill);
  wantedBill = 0;
  if (item) focusCard(item.lab_report_id);
  else $("since").textContent = "No critical result of this bill waits for a call.";
}

const departmentOf = (one) => one.department_name || "Other";

// filterOptions fills the department filter with the departments that have entries, plus the chosen one. It returns the chosen
// department, "" for all.
function filterOptions() {
  const only = $("department").value;
  const names = [...new Set([...items, ...unconfirmed, ...unclear, ...corrected].map(departmentOf).concat(only || []))].sort();
  const offered = [...$("department").options].slice(1).map((o) => o.value);
  if (names.join("\n") !== offered.join("\n")) {
    const all = $("department").options[0];
    $("department").replaceChildren(all, ...names.map((name) => new Option(name, name, false, name === only)));
  }
  return only;
}

const reasons = {
  unavailable: "The notification service is not available.",
  type_off: "The laboratory has switched notifications of critical reports off.",
  push_off: "This installation sends no messages to phones.",
  no_device: "No device of the laboratory is registered for notifications.",
};

// showReach shows whether notices cannot be sent, and how many results wait where the user does not see them. The texts change
// only when they say something new, so that a screen reader does not repeat them.
function showReach(notices, elsewhere) {
  const since = notices?.since ? ` (since ${moment(notices.since)})` : "";
  const texts = {
    notices: notices ? `Notices cannot be sent${since}. ${reasons[notices.reason] ?? ""} Call by telephone; no one is notified automatically.` : "",
    elsewhere: !elsewhere ? "" : elsewhere === 1 ? "1 waits in a department that you do not see."
      : `${elsewhere} wait in departments that you do not see.`,
  };
  for (const [id, text] of Object.entries(texts)) {
    $(id).hidden = !text;
    if ($(id).textContent !== text) $(id).textContent = text;
  }
}

// showRules shows when the laboratory is notified again about results that no one has called. Without the settings it is empty.
async function showRules() {
  let rules = {};
  try {
    rules = await request("/operation/critical-callout/settings");
  } catch { /* the board works without them */ }
  const after = { undefined: "", 0: ", and then no more" }[rules.remind_hours] ?? `, then every ${rules.remind_hours} h`;
  $("rules").textContent = rules.escalate_minutes
    ? `Without a call the laboratory is notified every ${rules.escalate_minutes} min, ${rules.escalate_most} × at most${after}.` : "";
}

// section fills the list of a section with the entries of the chosen department, and hides the section without any.
function section(name, title, entries, only, line) {
  const list = entries.filter((one) => !only || departmentOf(one) === only);
  $(name).hidden = list.length === 0;
  $(`${name}-title`).textContent = `${title} (${list.length})`;
  $(`${name}-list`).replaceChildren(...list.map((one) => {
    const entry = element("li", "", ...line(one));
    entry.dataset[name] = one.lab_report_id;
    return entry;
  }));
}

const where = (one) => ` — ${one.test_name}, ${patientOf(one)}, bill ${one.lab_bill_id}`;
const strong = (text) => element("strong", "", text);

function showSections(only) {
  section("unconfirmed", "Critical in a rerun, not confirmed", unconfirmed, only, (u) =>
    [strong(u.critical_parameters.map(valueText).join(", ")), `${where(u)}, received ${moment(u.received_at)}`]);
  section("unclear", "Cannot be evaluated", unclear, only, (u) =>
    [strong(`${u.parameter_name} ${u.raw_value}`), ` — ${u.test_name}, bill ${u.lab_bill_id}, critical ${u.critical_range}, found ${moment(u.since)}`]);
  section("corrected", "Corrected", corrected, only, correctedLine);
}

function correctedLine(c) {
  const sent = c.notice_sent === false ? "Correction not sent" : `Correction sent ${moment(c.told_at)}`;
  const call = c.called_at ? `call recorded at ${moment(c.called_at)}` : "no call recorded";
  const record = element("button", "", "Record a call about the correction");
  record.type = "button";
  record.dataset.report = c.lab_report_id;
  record.addEventListener("click", () => open({ ...c, critical_parameters: c.called_parameters, wrong: true }));
  return [strong(`Was called: ${c.called_parameters.map(valueText).join(", ")}`), where(c),
    element("div", c.called_at ? "soft" : "off", `${sent}, ${call}.`),
    c.notified_persons?.length ? element("div", "", `Call ${c.notified_persons.join(", ")}.`) : "", record];
}

// showList shows a work list that came from the event stream or from a request.
function showList(list) {
  clockSkew = Date.parse(list.now) - Date.now();
  inZone(list.time_zone);
  items = list.open;
  unclear = list.unclear ?? [];
  corrected = list.corrected ?? [];
  unconfirmed = list.unconfirmed ?? [];
  $("unclear-limit").hidden = !list.unclear_limit_reached;
  $("corrected-limit").hidden = !list.corrected_limit_reached;
  showReach(list.notices_unavailable, list.elsewhere);
  limited = list.limit_reached;
  quietSince = list.quiet_since;
  const results = items.flatMap((i) =>
    [i.lab_report_id, ...i.critical_parameters.map((p) => `${i.lab_report_id} ${p.report_format_id}`)]).concat(unconfirmed.flatMap((u) => u.critical_parameters.map((p) =>
    `rerun ${u.lab_report_id} ${p.report_format_id} ${p.raw_value}`)));
  const fresh = known !== null && results.some((r) => !known.has(r));
  known = new Set(results);
  if (fresh) beep();
  show();
}

// Browsers allow sound only after the user has interacted with the page. The checkbox "sound" therefore creates the context.
let audio = null;

function beep() {
  if (!audio || !$("sound").checked) return;
  for (const [start, pitch] of [[0, 880], [0.25, 660], [0.5, 880]]) {
    const tone = audio.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(audio.destination);
    tone.start(audio.currentTime + start);
    tone.stop(audio.currentTime + start + 0.2);
  }
  document.body.dataset.sounded = Number(document.body.dataset.sounded ?? 0) + 1;
}

function focusCard(report) {
  document.querySelector(`button[data-report="${CSS.escape(report)}"]`)?.focus();
}

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

let stream = null;
let triedAt = 0; // start of the last connection attempt, by the clock of this device
let heardAt = 0; // time of the last event, by the clock of this device
let limited = false; // whether the server has more results than it sent

function connect() {
  stream?.close();
  triedAt = Date.now();
  stream = new EventSource("/operation/critical-callout/live");
  stream.addEventListener("worklist", (event) => {
    showList(JSON.parse(event.data));
    heard();
  });
  stream.addEventListener("summary", (event) => {
    const sum = JSON.parse(event.data);
    const median = sum.median_minutes_to_callout === null ? "–" : `${sum.median_minutes_to_callout} min`;
    const elsewhere = sum.elsewhere ? `, ${sum.elsewhere} elsewhere` : "";
    $("figures").textContent = `${sum.open} open, ${sum.overdue} overdue${elsewhere} · last 30 days: ${sum.called} called, median ${median}, limit ${sum.limit_minutes} min`;
    heard();
  });
  stream.addEventListener("alive", heard);
  stream.addEventListener("open", () => {
    if (ended) location.reload();
    else showRules(); // again with each connection, as the settings may have changed
  });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) refused();
    else cutOff(); // the browser reconnects automatically
  });
}

function heard() {
  heardAt = Date.now();
  document.body.classList.remove("cut-off");
  say(limited ? "Only the first 500 are shown." : `Up to date at ${clock(new Date())}`, limited);
}

function cutOff(why) {
  document.body.classList.add("cut-off");
  const shown = heardAt ? `The list is from ${clock(new Date(heardAt))}. New results do not appear. ` : "";
  say(`Connection lost. ${why ? `${why} ` : ""}${shown}Reconnecting.`, true);
}

// refused requests the list after the server or a proxy has refused the event stream, because an EventSource does not report
// the reason. If only streams are blocked, the board shows this list and polls it. If the session has ended, it is cleared.
async function refused() {
  try {
    const list = await request("/operation/critical-callout/open");
    if (ended) location.reload();
    showList(list);
    heardAt = Date.now();
    document.body.classList.remove("cut-off");
    say(`Live updates are blocked. The list is from ${clock(new Date())} and is reloaded every few seconds.`, true);
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) forget(problem);
    else cutOff(problem.message);
  }
  setTimeout(connect, reconnectMs);
}

// ended is set when the session has ended. The next one may be another user's, whose name and drafts the page must load.
let ended = false;

// forget removes all patient data from the page because the session has ended or lacks permission.
function forget(problem) {
  ended = true;
  items = unclear = corrected = unconfirmed = [];
  known = quietSince = null;
  $("board").replaceChildren();
  $("since").textContent = "";
  showSections("");
  showReach(null, 0);
  $("rules").textContent = "";
  $("figures").textContent = "";
  if ($("dialog").open) $("dialog").close();
  document.body.classList.remove("cut-off");
  say(problem.status === 401 ? "Log in to see the critical results of your laboratory." : problem.message, true);
}

// checkConnection reconnects if no event has arrived for silentMs. A browser does not notice for minutes that a cable was pulled.
function checkConnection() {
  const silent = Date.now() - Math.max(heardAt, triedAt) > silentMs;
  if (silent && stream.readyState !== EventSource.CLOSED) {
    connect();
    cutOff();
  }
}

// showValues sets the result of the dialog and lists its critical values. The result either needs a callout, or was called and
// then corrected (wrong is true).
function showValues(item) {
  chosen = item;
  $("dialog-values").replaceChildren(...item.critical_parameters.map((p) =>
    element("li", "", `${valueText(p)} — critical ${p.critical_range}, reference ${p.reference_range}`)));
}

async function open(item) {
  if ($("dialog").open || saving) return;
  showValues(item);
  $("dialog-title").textContent = item.wrong ? `${item.test_name}: was called, now corrected` : item.test_name;
  $("dialog-patient").textContent = `${patientOf(item)}, bill ${item.lab_bill_id}`;
  $("attempt").hidden = Boolean(item.wrong); // a corrected result needs no callout, so there is no attempt to save
  $("problem").textContent = "";
  $("form").reset();
  $("person").value = item.notified_persons?.[0] ?? item.referral_name;
  $("told-at").value = $("told-at").defaultValue = minute(new Date(now()));
  delete $("form").dataset.warned;
  if (draft.restore(item.lab_report_id, $("form"))) $("problem").textContent = "This is what you typed before. It is not saved yet.";
  $("history").replaceChildren(element("li", "soft", "Loading…"));
  $("bill").hidden = true;
  $("dialog").showModal();
  $("person").focus();
  const [history, bill] = await Promise.all([historyOf(item), billOf(item)]);
  if (chosen.lab_report_id !== item.lab_report_id) return; // the user has opened another card meanwhile
  $("history").replaceChildren(...history);
  $("bill").hidden = bill.length === 0;
  $("bill-list").replaceChildren(...bill);
}

async function historyOf(item) {
  try {
    const { logs } = await request(`/report/bulk/critical-notification/logs?report_ids=${item.lab_report_id}`);
    if (logs.length === 0) return [element("li", "soft", "Nothing yet.")];
    return logs.map((l) => element("li", "", [moment(l.activityDate), l.labUserName, l.activityText, l.meta.recipients].filter(Boolean).join(" · ")));
  } catch (problem) {
    return [element("li", "soft", problem.message)];
  }
}

// billOf returns a line for the newest attempt of each report of the bill, and one for each value that needs no call because of the
// laboratory's repeat policy.
async function billOf(item) {
  try {
    const { reports = [], attempted_callout: attempted, suppressed } = await request(`/report/${item.bill_id}/critical/records`);
    const test = (id) => reports.find((r) => r.lab_report?.labReportId === id)?.lab_report.reportID?.testName ?? `report ${id}`;
    const lines = (attempted?.attempts ?? []).map((a) => ["Tried, not reached", test(a.lab_report_id), moment(a.created_on),
      a.critical_callout_meta?.notified_person, (a.recipients ?? []).join(", "), a.critical_callout_comment]);
    for (const s of suppressed ?? []) {
      lines.push(["Needs no call", s.critical_parameters.map(valueText).join(", "), s.reportID?.testName, s.reason,
        s.called_at && `called ${moment(s.called_at)}`]);
    }
    return lines.map((parts) => element("li", "", parts.filter(Boolean).join(" · ")));
  } catch (problem) {
    return [element("li", "soft", problem.message)];
  }
}

// toldAt returns the time of the call as an ISO string if the user changed the field, otherwise undefined, which means now. The
// field has no date: the result is the latest past moment with that time of day.
function toldAt() {
  const text = $("told-at").value;
  if (!text || text === $("told-at").defaultValue) return undefined;
  const ago = (ofDay(minute(new Date(now()))) - ofDay(text) + dayMinutes) % dayMinutes;
  return new Date(Math.floor(now() / 60000 - ago) * 60000).toISOString();
}

const dayMinutes = 24 * 60;
const ofDay = (text) => text.split(":").reduce((hours, minutes) => Number(hours) * 60 + Number(minutes));

const spoken = () => ["call", "in_person"].includes($("method").value);

// complaint returns [id of the field, message] for the first problem that prevents completing the callout, or undefined. It
// warns about a missing read-back only once.
function complaint() {
  if (!$("person").value.trim()) return ["person", "Say who was told."];
  if (spoken() && !chosen.wrong && !$("readback").checked && !$("form").dataset.warned) {
    $("form").dataset.warned = "yes";
    return ["readback", "The values were not read back, so this is saved only as an attempt and the result stays open. Press again to save it as an attempt."];
  }
  return undefined;
}

async function save(isDraft) {
  const item = chosen;
  const problem = isDraft ? undefined : complaint();
  if (problem) {
    $("problem").textContent = problem[1];
    $(problem[0]).focus();
    return;
  }
  const body = {
    is_draft: isDraft, lab_report_ids: [item.lab_report_id], recipients: [$("recipient").value],
    communication_methods: [$("method").value], critical_callout_comment: $("comment").value,
    read_back: $("readback").checked, notified_person: $("person").value.trim(), notified_at: toldAt(),
  };
  if (isDraft) body.outcome = "unable_to_reach";
  if (item.wrong) body.force = true;
  else body.told_values = item.critical_parameters.map((p) => (
    { lab_report_id: item.lab_report_id, report_format_id: p.report_format_id, raw_value: p.raw_value }));
  busy(true);
  let response;
  try {
    response = await request(`/report/${item.bill_id}/critical/callout`, body);
  } catch (failed) {
    await failedToSave(failed);
  }
  busy(false);
  if (!response) return;
  draft.forget(item.lab_report_id);
  const done = response.status === "CALLOUT_DONE";
  if (done && !item.wrong) items = items.filter((i) => i.lab_report_id !== item.lab_report_id);
  $("dialog").close();
  show();
  say(done ? "The callout is recorded." : "The attempt is saved. The result still needs a callout.");
}

// failedToSave shows the error. After a conflict (409) it reloads the list and shows the current values of the result, because
// the call was about the old ones.
async function failedToSave(failed) {
  if (failed.status === 409 && !chosen.wrong) {
    try {
      showList(await request("/operation/critical-callout/open"));
    } catch { /* the event stream delivers the list later */ }
    const current = items.find((i) => i.lab_report_id === chosen.lab_report_id);
    if (current) showValues(current);
  }
  if ($("dialog").open) $("problem").textContent = failed.message;
  else say(`The callout of ${chosen.test_name} is not saved: ${failed.message}`, true); // the user may have closed the dialog with Esc
}

// busy disables the buttons of the dialog while a request is running, so that the dialog stays open until the response arrives.
function busy(on) {
  saving = on;
  for (const id of ["complete", "attempt", "close"]) $(id).disabled = on;
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save(false);
});
$("form").addEventListener("input", () => draft.keep(chosen.lab_report_id, $("form")));
$("attempt").addEventListener("click", () => save(true));
$("close").addEventListener("click", () => $("dialog").close());
$("dialog").addEventListener("cancel", (event) => { if (saving) event.preventDefault(); });
$("department").addEventListener("change", show);
$("sound").addEventListener("change", () => {
  audio ??= new AudioContext();
  audio.resume();
});
$("full").addEventListener("click", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});
// After the dialog closes, the keyboard focus returns to the card that opened it. The card may be a new element by then.
$("dialog").addEventListener("close", () => focusCard(chosen.lab_report_id));
setInterval(() => { if (!$("dialog").open && stream.readyState !== EventSource.CLOSED) show(); }, 30000); // updates the waiting times
setInterval(checkConnection, 1000);
connect();
header().then(async (visitor) => draft.ofLogin(visitor, await currentLogin()));
