import { Counter, differential } from "./count.js";
import { currentVisitor, link, request as send, moment } from "../assets/lab.js";
import { header, presentLogin } from "../assets/shell.js";
import { ask } from "../assets/ask.js";
import { chooseOne, describe, endQuestion, patientBar } from "../assets/find.js";
import { disown, find, forget, isOwn, keep, own } from "./keep.js";
import { keyOf } from "./keys.js";
import { save } from "./save.js";
import { beep } from "./sound.js";
import { agreementRow, keypad, shareRow } from "./view.js";
import { waitingSmears } from "./waiting.js";
import { checkWbc, clearWbc, isCorrected, wbc } from "./wbc.js";

const $ = (id) => document.getElementById(id);
const base = "/api-v3/cell-counter-mappings/";

// Page of the cell counter: it counts key presses per cell type, shows the differential, and saves the count of each observer.
let counter = null;
// {test, report, observer, typed, login, sample} of the count: report is 0 until the user enters one, typed is the text that named it, login
// is the counting user, sample the report's sample when the keys were loaded, undefined until it is known.
let subject = null;
let resolved = { typed: "", report: 0 }; // the report of the typed number, so that it is looked up once
let testTyped = false; // whether the user, not the report, chose the test in the field
let loads = 0; // number of the latest load; responses to earlier ones are ignored
let cells = new Map(); // cell types by id
let finished = false;
let busy = false; // a dialog is open or a count is being saved: key presses are ignored

function say(text, kind = "") {
  $("message").className = "message " + kind;
  $("message").textContent = text;
}

const request = (path, body, options) => send(base + path, body, options);

const counted = () => (counter ? counter.history.length : 0);

// unknownLogin stands for the login while it cannot be requested.
const unknownLogin = { key: "", name: "" };

// confirmed asks before counted cells are discarded, and returns whether the user agreed. If nothing is counted it returns true.
async function confirmed(question, yes) {
  if (!counted()) return true;
  busy = true;
  const agreed = await ask(question, yes, "Keep the count");
  busy = false;
  return agreed;
}

// countable returns the reports of a typed number that need a cell count; with a chosen test, only its reports.
const countable = (test) => ({ reports }) => reports.filter((r) => r.cell_counter && (!test || r.test_id === test))
  .map((r) => ({ key: r.lab_report_id, test: r.test_id, text: [r.test_name, r.sample_id && `sample ${r.sample_id}`].filter(Boolean).join(", ") }));

const typedNumber = () => $("report").value.trim();

// reportOf returns the id of the report that the field names, 0 if it is empty. It fills in the test of the report. It throws an
// AbortError if the user types another number meanwhile, or chooses none of several.
async function reportOf(test) {
  const typed = typedNumber();
  if (typed !== resolved.typed) {
    const { key, test: own } = typed ? await chooseOne(typed, $("choices"), "report with counted cells", countable(test)) : { key: 0 };
    if (typed !== typedNumber()) throw new DOMException("another number was typed", "AbortError");
    resolved = { typed, report: key };
    if (own) [$("test").value, testTyped] = [own, false];
  }
  return resolved.report;
}

// showPatient shows the patient of the counted report. The count does not wait for it.
const showPatient = () => patientBar(subject.report ? { lab_report_id: subject.report } : null);

// load loads the keys of the test and report in the fields and begins a count of them.
async function load(event) {
  event.preventDefault();
  if (busy) return;
  const own = ++loads;
  say("Loading the keys …");
  try {
    const report = await reportOf(testTyped ? Number($("test").value) : 0);
    const requested = { test: Number($("test").value), report, observer: Number($("observer").value), typed: typedNumber() };
    if (!requested.test) {
      say("Enter a sample or a test.", "warn");
      return;
    }
    const [view, list, login] = await Promise.all([request(String(requested.test)), request("cells/"), presentLogin()]);
    if (own !== loads || busy) return;
    if (view.mappings.length === 0) {
      say("No keys are mapped for this test. Map them, then load them here. ", "warn");
      $("message").append(link(`/cell-counter-keys/?test=${requested.test}`, "Map keys"));
      return;
    }
    if (!(await confirmed(counted() + " cells are counted and not saved. Load the keys and discard the count?", "Load and discard"))) {
      say("The count continues. Its keys stay loaded.");
      return;
    }
    begin({ ...requested, login: login ?? unknownLogin }, view, list.cells);
    showPatient();
    await compare().catch(() => {}); // counting works without the comparison
  } catch (error) {
    if (own !== loads) return;
    if (error.name === "AbortError") say("Load the keys when the number is complete.");
    else say(error.message, "bad");
  }
}

// begin starts a count with the loaded keys. It restores the count that this browser has stored for the test and report, if any.
function begin(requested, view, list) {
  if (subject) {
    forget(subject);
    disown(subject);
    if (subject.test !== requested.test || subject.report !== requested.report || !requested.report) clearWbc();
  }
  cells = new Map(list.map((c) => [c.id, c]));
  counter = new Counter(view.mappings, view.target_count, new Set(list.filter((c) => c.is_nucleated_red).map((c) => c.id)));
  subject = requested;
  own(subject);
  finished = false;
  waiting.show(false);
  $("counter").hidden = false;
  $("keypad").replaceChildren(...keypad([...counter.cells.values()], cells, (key) => { if (!busy && !finished) count(key); }));
  $("keypad").hidden = !$("touch").checked;
  document.activeElement?.blur(); // the next keys count, wherever the focus was
  chosenField = null;
  say("Ready: " + view.mappings.length + " keys (" + (view.scope === "lab" ? "your laboratory's" : "the defaults") + "). Count with the keyboard.");
  const kept = find(requested.test, requested.report, requested.login.key);
  if (kept) {
    restore(kept);
  }
  draw();
}

// restore shows a count of this login that this browser has stored.
function restore(kept) {
  const lost = counter.restore(kept.count);
  subject.observer = kept.subject.observer;
  subject.sample = kept.subject.sample ?? ""; // the present one may be another
  $("observer").value = subject.observer;
  say("Stored in this browser since " + moment(kept.at) + ": " + counted() + " cells of observer " + subject.observer + "." +
    (lost ? " " + lost + " cells no longer have a key and are left out." : " Count on, or start again."),
    lost ? "warn" : "good");
}

// draw shows the count and stores it in this browser.
function draw(hit = null) {
  keep(subject, counter.saved());
  const result = differential(counter.tallies(), wbc(), isCorrected());
  const rows = (included) => result.shares.filter((s) => s.include_in_total === included).map((s) => shareRow(s, cells));
  $("cells").replaceChildren(...rows(true));
  $("apart-cells").replaceChildren(...rows(false));
  $("apart").hidden = !result.shares.some((s) => !s.include_in_total);
  if (hit) {
    document.querySelector(`tr[data-cell="${hit.cell_id}"]`)?.classList.add("hit");
  }
  $("total").textContent = result.total;
  $("target").textContent = counter.target;
  $("progress").max = counter.target;
  $("progress").value = result.total;
  $("more").hidden = !counter.reached() && !finished;
  $("ask-corrected").hidden = wbc() === null || !result.shares.some((s) => s.is_nucleated_red);
  $("corrected").hidden = result.corrected === null || result.corrected === wbc();
  $("corrected").textContent = result.corrected === null ? "" : "White cell count without nucleated red cells: " + result.corrected.toFixed(2);
  lock();
}

// moved returns whether the fields contain another test or report than the one whose keys are loaded.
function moved() {
  return Number($("test").value) !== subject.test || subject.report > 0 && typedNumber() !== subject.typed;
}

// lock disables the fields for test and report while cells are counted, so that the count stays with the loaded keys.
function lock() {
  $("test").disabled = counted() > 0;
  $("report").disabled = counted() > 0 && subject.report > 0;
}

let chosenField = null; // the field that the user chose since the last counted cell

// isForField reports whether a key belongs to the focused field. Cells are counted wherever the focus was left when the count
// began: a field takes keys again only after the user chooses it again.
function isForField(field, key) {
  const counts = counter.cellOf(key);
  if (!field || counts && (field.tagName === "SELECT" || field.id === "wbc" && !/^[\d.,]$/.test(key))) return false;
  return counted() === 0 || field === chosenField || !counts && key !== "Backspace";
}

// press handles a key. Enter finishes the count wherever the focus is. Repeats of a key that is held down are not counted.
function press(event) {
  if (!counter || busy || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("dialog[open], #choices")) return;
  const key = keyOf(event, (name) => counter.cellOf(name));
  if (key === "Enter" && counted() > 0) {
    event.preventDefault();
    if (!event.repeat) {
      finish();
    }
    return;
  }
  const field = event.target.closest("input:not([type=checkbox]), select, textarea");
  const pushing = event.target.closest("button, [type=checkbox]") && (key === "Space" || key === "Enter");
  if (finished || pushing || isForField(field, key)) return;
  if (key !== "Backspace" && !counter.cellOf(key)) {
    miss(event, key);
    return;
  }
  event.preventDefault();
  if (event.repeat) return;
  field?.blur();
  if (key === "Backspace") {
    undo();
    return;
  }
  count(key);
}

// miss reports that a key counted nothing. Before the count begins, keys are the page's: "/" opens the command box.
function miss(event, key) {
  if (counted() === 0 || event.repeat || key.length > 1 || event.target.closest("input, select")) return;
  event.preventDefault();
  if ($("sound").checked) beep(220, "misses");
  say("The key " + key + " is mapped to no cell, so nothing was counted.", "warn");
}

function count(key) {
  if (!isOwn(subject)) return leave();
  if (moved()) {
    say("The keys of test " + subject.test + (subject.report ? " and report " + subject.report : "") +
      " are loaded, so this cell is not counted. Load the keys for the test and report in the fields.", "warn");
    return;
  }
  const hit = counter.press(key);
  if (!hit) {
    say(counter.target + " cells are counted, so this one was not added. Finish the count, or continue counting.", "warn");
    return;
  }
  chosenField = null;
  if (counted() === 1) {
    waiting.show(false);
    identify();
  }
  draw(hit);
  if (counter.reached()) {
    if ($("sound").checked) beep(880, "beeps");
    say(counter.target + " cells are counted. Finish the count, or continue counting.", "good");
  }
}

// identify stores the current login with the count: the user may have logged in as someone else since the keys were loaded.
async function identify() {
  const login = await presentLogin();
  if (login && subject && login.key !== subject.login.key) {
    forget(subject);
    subject.login = login;
    keep(subject, counter.saved());
  }
}

// leave ends the count on this page, because another tab has loaded it, with every cell counted so far.
function leave() {
  counter = subject = null;
  clearWbc();
  $("counter").hidden = true;
  $("test").disabled = $("report").disabled = false;
  say("This count was opened in another tab of this browser, with all its cells. To count here, load the keys.", "warn");
}

function undo() {
  if (busy) return;
  if (!isOwn(subject)) return leave();
  const taken = counter.undo();
  finished = false;
  draw();
  say(taken ? "Undone: " + (cells.get(taken.cell_id)?.name || taken.keys[0]) : "Nothing to undo.");
}

// named assigns the count to the report in the field after the user has confirmed the patient. It returns whether the count can be
// finished, which is also possible without a report.
async function named() {
  busy = true;
  try {
    const report = await reportOf(subject.test);
    if (report && !(await isRight(report))) {
      say("The count is not saved. Enter its sample or report, and finish again.", "warn");
      return false;
    }
    if (report) {
      forget(subject); // the count was stored without a report
      disown(subject);
      subject = { ...subject, report, typed: typedNumber() };
      own(subject);
    }
    return true;
  } catch (error) {
    if (error.name === "AbortError") say("The count is not saved. Enter its sample or report, and finish again.", "warn");
    else say(error.message, "bad");
    return false;
  } finally {
    busy = false;
  }
}

// isRight shows the patient of a report that was entered after counting and asks for confirmation. Without a search service there is no
// patient to show.
async function isRight(report) {
  const match = await patientBar({ lab_report_id: report });
  if (!match) return (await currentVisitor()).has_search === false;
  const right = await confirmed(`Save ${counted()} cells as a count of ${describe(match.patient)}?`, "Save");
  if (!right) patientBar(null);
  return right;
}

// isCounters reports whether the current login counted the cells. While the login cannot be requested, no count is saved, because another
// person may have logged in.
async function isCounters() {
  busy = true;
  const login = await presentLogin();
  busy = false;
  if (!login) {
    say("The count is not saved, because it cannot be checked who is logged in. It stays in this browser. Log in if you are logged out, or wait a moment, and finish again.", "bad");
    return false;
  }
  if (login.key === subject.login.key) return true;
  if (subject.login.key === "") return adopted(login);
  say(`These cells were counted by ${subject.login.name || "another login"}. Log in as this person to save them, or start again.`, "bad");
  return false;
}

// adopted assigns the count of an unknown login to the current login after the user has confirmed it. It returns whether it did.
async function adopted(login) {
  const question = `It could not be checked who counted these ${counted()} cells. Did ${login.name || "you"} count all of them?`;
  if (!(await confirmed(question, "Yes, save them"))) {
    say("The count is not saved. Log in as the person who counted, and finish again; or start again.", "warn");
    return false;
  }
  forget(subject); // the count was stored for the unknown login
  subject.login = login;
  keep(subject, counter.saved());
  return true;
}

// finish saves the count on the server for the report. If that fails, the count stays on the page and in this browser and can be
// finished again.
async function finish() {
  if (busy) return;
  if (!counted()) {
    say("Nothing is counted yet.", "warn");
    return;
  }
  if (!isOwn(subject)) return leave();
  if (!(await isCounters()) || !subject.report && !(await named())) return;
  const { test, observer, report, sample } = subject;
  finished = true;
  draw();
  if (!report) {
    say("The count is finished. To save it, enter a sample or a report and finish again; or continue counting.", "good");
    return;
  }
  say("Saving …");
  busy = true;
  const counts = counter.tallies().map(({ cell_id, count, include_in_total }) => ({ cell_id, count, include_in_total }));
  try {
    await save(base + test + "/counts/" + report, { observer, counts, sample_id: sample || undefined }, async (question, yes) => {
      const agreed = await confirmed(question, yes);
      busy = true;
      return agreed;
    });
  } catch (error) {
    busy = finished = false;
    draw();
    say(error.message, "bad");
    return;
  }
  // The next count begins here: keys that are pressed while the comparison loads belong to it.
  const saved = "Saved as observer " + observer + " of report " + report + ".";
  busy = false;
  empty();
  waiting.show(true);
  say(saved, "good");
  await compare().catch((error) => say(saved + " The comparison could not be loaded: " + error.message, "warn"));
}

// empty starts a new count with the same keys.
function empty() {
  counter.clear();
  subject.sample = undefined; // compare reads the present one
  finished = false;
  draw();
}

async function startAgain() {
  if (!busy && await confirmed(counted() + " cells are counted and not saved. Discard them and start again?", "Start again")) {
    empty();
    say("New count started.");
    await compare().catch(() => {});
  }
}

function countOn() {
  if (busy) return;
  if (counter.reached()) {
    counter.more();
  }
  finished = false;
  draw();
  say("Counting continues up to " + counter.target + ".");
}

// observe changes the observer. Cells that are already counted move to the new observer only after the user has confirmed it.
async function observe() {
  const observer = Number($("observer").value);
  $("observer").blur();
  if (!counter || observer === subject.observer) return;
  if (busy) { // the count that is being saved belongs to the old observer
    $("observer").value = subject.observer;
    return;
  }
  if (!(await confirmed(counted() + " cells were counted as observer " + subject.observer + ". Are they observer " + observer + "'s?", "They are observer " + observer + "'s"))) {
    $("observer").value = subject.observer;
    return;
  }
  forget(subject);
  subject.observer = observer;
  draw();
}

// compare shows the agreement of the two observers of the report. It shows nothing if the report is unknown or only one has counted.
async function compare() {
  $("comparison").hidden = true;
  if (!subject?.report) return;
  const { test, report } = subject;
  const body = await request(test + "/counts/" + report);
  if (subject?.test !== test || subject.report !== report) return; // the user loaded another report meanwhile
  subject.sample ??= body.sample_id;
  $("agreements").replaceChildren(...body.comparison.map((a) => agreementRow(a, cells)));
  $("comparison").hidden = body.comparison.length === 0;
  const other = body.observers.filter((o) => o.other_sample).map((o) => o.observer);
  if (other.length > 0) {
    say(`The stored count of observer ${other.join(" and ")} is of a previous sample of this report, so it is not compared. Count the present sample in its place.`, "warn");
  }
}

$("setup").addEventListener("submit", load);
$("report").addEventListener("input", () => {
  endQuestion();
  resolved = { typed: "", report: 0 }; // a number that is typed or scanned again may mean another report
});
$("test").addEventListener("input", () => { testTyped = $("test").value.trim() !== ""; });
$("observer").addEventListener("change", observe);
$("undo").addEventListener("click", undo);
$("finish").addEventListener("click", finish);
$("more").addEventListener("click", countOn);
$("clear").addEventListener("click", startAgain);
$("wbc").addEventListener("input", () => {
  const warning = checkWbc();
  if (warning) say(warning, "warn");
  if (counter) draw();
});
$("touch").checked = matchMedia("(pointer: coarse)").matches;
$("touch").addEventListener("change", () => { $("keypad").hidden = !$("touch").checked; });
$("corrected-already").addEventListener("change", () => counter && draw());
document.addEventListener("keydown", press);
addEventListener("storage", () => { if (subject && !busy && !isOwn(subject)) leave(); });
addEventListener("pagehide", () => subject && disown(subject));
for (const event of ["focusin", "pointerdown"]) document.addEventListener(event, (e) => { chosenField = e.target.closest("input, select"); });
// A clicked button or checkbox loses the focus, so that the next key press is counted.
document.addEventListener("click", (event) => event.target.closest("#counter button, [type=checkbox]")?.blur());

const waiting = waitingSmears($("waiting"));
const parameters = new URLSearchParams(location.search);
for (const name of ["test", "report", "observer"]) {
  if (parameters.has(name)) {
    $(name).value = parameters.get(name);
  }
}
await header();
const left = parameters.has("test") || parameters.has("report") ? null : find(0, 0, (await presentLogin())?.key ?? "");
if (left) {
  $("test").value = left.subject.test;
  $("report").value = left.subject.report || "";
}
testTyped = parameters.has("test") ? !parameters.has("report") : left !== null && !left.subject.report;
// Addresses and stored counts have the report's id.
if (/^\d+$/.test(typedNumber())) {
  resolved = { typed: typedNumber(), report: Number(typedNumber()) };
}
if (parameters.has("test") || left) {
  $("setup").requestSubmit();
} else {
  waiting.show(true);
}
