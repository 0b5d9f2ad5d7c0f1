// Board of the critical results that still need a callout, updated by an event stream, with the waiting time of each result. Data
// of the laboratory is always inserted as text, never as markup.
import { request, clock, element, inZone, moment, remember, remembered } from "../assets/lab.js";
import { currentLogin, header, identity, live, mayUse, reloaded, sameLogin } from "../assets/shell.js";
import * as claim from "./claim.js";
import * as dialog from "./dialog.js";
import * as draft from "./draft.js";
import { departmentOf, patientOf, valueText } from "./result.js";

const silentMs = 40000; // the service counts as silent after this time without an event; it sends one every 15 s
const soonMs = 10 * 60 * 1000; // "due soon" begins this long before the deadline
const mostUnconfirmed = 100; // the server lists at most this many reports, and does not say that there are more

const $ = (id) => document.getElementById(id);
let items = []; // results that need a callout
let unclear = []; // values that the platform cannot evaluate
let corrected = []; // results that were called and then corrected
let unconfirmed = []; // critical values of reruns that are not in the report yet
let clockSkew = 0; // server's clock minus this device's clock, in milliseconds
let quietSince = null; // time since when no result needs a callout, or null
let wantedBill = Number(new URLSearchParams(location.search).get("bill")); // its card gets the focus once; 0: none
let elsewhere = 0; // waiting results in departments that the user does not see
let login = {};
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

function card(item) {
  const level = urgency(item);
  const button = element("button", `card ${level}`);
  button.type = "button";
  button.dataset.report = item.lab_report_id;
  button.append(element("span", "age", `${age(item)}, ${urgencyText[level]}`));
  button.append(element("span", "test", item.test_name));
  button.append(element("span", "values", ...item.critical_parameters.map((p) => element("strong", "", valueText(p)))));
  button.append(element("span", "name", patientOf(item)));
  const held = claim.current(item, now());
  if (held) button.append(element("span", "claim", claim.describe(held)));
  const notes = [(level === "late" || compact()) && departmentOf(item), compact() && item.test_name, item.referral_name, item.org_name].filter(Boolean);
  if (item.criticalValues === "CALLOUT_ATTEMPTED") notes.push("tried, not reached");
  if (item.escalations > 0) notes.push(`escalated ${item.escalations} ×`);
  if (item.next_reminder_at) notes.push(`next reminder ${moment(item.next_reminder_at)}`);
  if (item.rerun_pending) notes.push("a rerun is pending");
  button.append(element("span", "notes", notes.join(" · ")));
  if (compact()) button.title = notes.join(" · ");
  if (item.notices_off) button.append(element("span", "off", "No one was notified."));
  button.addEventListener("click", () => dialog.open(item));
  return button;
}

const compact = () => $("compact").checked;

// show lists the overdue results of all departments first, then the others: by department, or on a compact board by deadline.
function show() {
  const focused = document.activeElement?.dataset?.report;
  const only = filterOptions();
  const shown = items.filter((item) => !only || departmentOf(item) === only);
  const late = shown.filter((item) => urgency(item) === "late").sort((a, b) => Date.parse(a.detected_at) - Date.parse(b.detected_at));
  const departments = new Map();
  for (const item of shown.filter((item) => !late.includes(item))) {
    const name = compact() ? "Waiting" : departmentOf(item);
    if (!departments.has(name)) departments.set(name, []);
    departments.get(name).push(item);
  }
  const groups = [...departments].sort((a, b) => a[0].localeCompare(b[0]));
  if (late.length > 0) groups.unshift(["Overdue", late]);
  const board = $("board");
  board.replaceChildren();
  board.className = compact() ? "compact" : "";
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
  if (groups.length === 0) board.append(element("p", "empty", `No critical result${only ? ` of ${only}` : elsewhere ? " of your departments" : ""} waits for a call.`));
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
  push_waits: "Messages to phones wait until the operator of the installation configures them.",
};

// showReach shows whether notices cannot be sent, and how many results wait in departments that the user does not see. The texts change
// only when they say something new, so that a screen reader does not repeat them.
function showReach(notices) {
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

// section fills the list of a section with the entries of the chosen department, and hides the section without any. A list that
// was cut may lack all entries of the department, so its section stays.
function section(name, title, entries, only, line) {
  const list = entries.filter((one) => !only || departmentOf(one) === only);
  $(name).hidden = list.length === 0 && $(`${name}-limit`).hidden;
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
  record.addEventListener("click", () => dialog.open({ ...c, critical_parameters: c.called_parameters, wrong: true }));
  return [strong(`Was called: ${c.called_parameters.map(valueText).join(", ")}`), where(c),
    element("div", c.called_at ? "dim" : "off", `${sent}, ${call}.`),
    c.notified_persons?.length ? element("div", "", `Call ${c.notified_persons.join(", ")}.`) : "", record];
}

let lists = 0; // number of lists received

// askForList requests the list and returns whether it was shown. A list that arrived meanwhile by event is newer and stays.
async function askForList() {
  const before = lists;
  try {
    const list = await request("/operation/critical-callout/open");
    if (ended || await sameLogin() === false) await reloaded();
    if (lists !== before) return false;
    showList(list);
    return true;
  } catch (problem) {
    if (lists !== before) return false;
    throw problem;
  }
}

// showList shows a work list that came from the event stream or from a request.
function showList(list) {
  lists++;
  clockSkew = Date.parse(list.now) - Date.now();
  inZone(list.time_zone);
  items = list.open;
  unclear = list.unclear ?? [];
  corrected = list.corrected ?? [];
  unconfirmed = list.unconfirmed ?? [];
  $("unclear-limit").hidden = !list.unclear_limit_reached;
  $("corrected-limit").hidden = !list.corrected_limit_reached;
  $("unconfirmed-limit").hidden = unconfirmed.length < mostUnconfirmed;
  elsewhere = list.elsewhere ?? 0;
  showReach(list.notices_unavailable);
  limited = list.limit_reached;
  quietSince = list.quiet_since;
  const results = items.flatMap((i) =>
    [i.lab_report_id, ...i.critical_parameters.map((p) => `${i.lab_report_id} ${p.report_format_id}`)]).concat(unconfirmed.flatMap((u) => u.critical_parameters.map((p) =>
    `rerun ${u.lab_report_id} ${p.report_format_id} ${p.raw_value}`)));
  const fresh = known !== null && results.some((r) => !known.has(r));
  known = new Set(results);
  if (fresh) beep();
  show();
  dialog.listChanged();
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

let unfollow = null;
let triedAt = 0; // start of the last connection, by the clock of this device
let heardAt = 0; // time of the last event, by the clock of this device
let listed = false; // whether the list on the page came from this connection
let limited = false; // whether the server has more results than it sent

function connect() {
  unfollow?.();
  triedAt = Date.now();
  unfollow = live("/operation/critical-callout/live", {
    open: () => {
      listed = false;
      showRules(); // again with each connection, as the settings may have changed
    },
    event: (name, data) => {
      if (name === "worklist") {
        listed = false; // stays so if the list cannot be shown
        showList(data);
        listed = true;
      }
      if (name === "summary") showSummary(data);
      if (listed) heard();
    },
    lost: (problem) => (problem.status === 0 ? cutOff() : refused()),
  });
}

function showSummary(sum) {
  const median = sum.median_minutes_to_callout === null ? "–" : `${sum.median_minutes_to_callout} min`;
  const elsewhere = sum.elsewhere ? `, ${sum.elsewhere} elsewhere` : "";
  $("figures").textContent = `${sum.open} open, ${sum.overdue} overdue${elsewhere} · last 30 days: ${sum.called} called, median ${median}, limit ${sum.limit_minutes} min`;
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

// refused requests the list after the event stream was refused. If only streams are blocked, the board shows this list at each
// attempt to connect. If the session has ended, it is cleared.
async function refused() {
  try {
    if (!await askForList()) return;
    heardAt = Date.now();
    document.body.classList.remove("cut-off");
    say(`Live updates are blocked. The list is from ${clock(new Date())} and is reloaded every few seconds.`, true);
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) forget(problem);
    else cutOff(problem.message);
  }
}

// ended is set when the session has ended. The next session may be another user's, so the page then loads name and drafts again.
let ended = false;

// forget removes all patient data from the page because the session has ended or lacks permission.
function forget(problem) {
  ended = true;
  items = unclear = corrected = unconfirmed = [];
  known = quietSince = null;
  $("board").replaceChildren();
  $("since").textContent = "";
  for (const name of ["unconfirmed", "unclear", "corrected"]) $(`${name}-limit`).hidden = true;
  showSections("");
  elsewhere = 0;
  showReach(null);
  $("rules").textContent = "";
  $("figures").textContent = "";
  if (dialog.isOpen()) dialog.close();
  document.body.classList.remove("cut-off");
  say(problem.status === 401 ? "Log in to see the critical results of your laboratory." : problem.message, true);
}

// checkConnection connects again if no event has arrived for silentMs: the gateway keeps a stream open whose service is silent.
function checkConnection() {
  if (ended || Date.now() - Math.max(heardAt, triedAt) <= silentMs) return;
  connect();
  cutOff();
}

dialog.connect({
  now, say, focus: focusCard, may: (path) => mayUse(login, path),
  find: (report) => items.find((item) => item.lab_report_id === report),
  load: () => askForList().catch(() => {}), // the event stream delivers the list later
  called: (report) => {
    items = items.filter((item) => item.lab_report_id !== report);
    show();
  },
});
$("department").addEventListener("change", show);
$("compact").checked = remembered("callout-density") === "compact";
$("compact").addEventListener("change", () => {
  remember("callout-density", compact() ? "compact" : "cards");
  show();
});
$("sound").addEventListener("change", () => {
  audio ??= new AudioContext();
  audio.resume();
});
$("full").addEventListener("click", () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
});
setInterval(() => { if (!dialog.isOpen() && !ended) show(); }, 30000); // updates the waiting times
setInterval(checkConnection, 1000);
connect();
header().then(async (visitor) => {
  login = await currentLogin();
  draft.ofLogin(identity(visitor, login));
});
