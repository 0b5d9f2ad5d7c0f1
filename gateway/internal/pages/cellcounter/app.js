import { Counter, differential } from "./count.js";
import { ask as send, header, moment } from "../assets/lab.js";
import { find, forget, keep } from "./keep.js";

const $ = (id) => document.getElementById(id);
const base = "/api-v3/cell-counter-mappings/";

let counter = null;
let subject = null; // whose count this is: {test, report, observer}; report is 0 until one is entered
let cells = new Map();
let finished = false;
let busy = false; // someone is asked, or a count is being saved: no key counts

function say(text, kind = "") {
  $("message").className = "message " + kind;
  $("message").textContent = text;
}

const ask = (path, body, options) => send(base + path, body, options);

const counted = () => (counter ? counter.history.length : 0);

// sure asks before cells that were counted are given up. Without any there is nothing to ask.
function sure(question, yes) {
  if (!counted()) {
    return Promise.resolve(true);
  }
  $("question").textContent = question;
  $("yes").textContent = yes;
  busy = true;
  $("ask").showModal();
  return new Promise((answer) => {
    const done = (given) => {
      busy = false;
      $("ask").close();
      answer(given);
    };
    $("yes").onclick = () => done(true);
    $("keep").onclick = () => done(false);
    $("ask").oncancel = () => done(false); // Escape
  });
}

async function load(event) {
  event.preventDefault();
  if (busy || !(await sure(counted() + " cells are counted and not saved. Load the keys and give them up?", "Load and give up"))) {
    return;
  }
  say("Loading the keys …");
  try {
    const asked = { test: Number($("test").value), report: Number($("report").value), observer: Number($("observer").value) };
    const [view, list] = await Promise.all([ask(String(asked.test)), ask("cells/")]);
    if (view.mappings.length === 0) {
      say("No keys are mapped for this test. Map them first, then load them again.", "warn");
      return;
    }
    begin(asked, view, list.cells);
    await compare().catch(() => {}); // the count matters more
  } catch (error) {
    say(error.message, "bad");
  }
}

// begin shows an empty counter with the keys, or the count of the subject that was kept.
function begin(asked, view, list) {
  if (subject) {
    forget(subject);
    if (subject.test !== asked.test || subject.report !== asked.report) { // another patient's blood
      $("wbc").value = "";
      $("corrected-already").checked = false;
    }
  }
  cells = new Map(list.map((c) => [c.id, c]));
  counter = new Counter(view.mappings, view.target_count, new Set(list.filter((c) => c.is_nucleated_red).map((c) => c.id)));
  subject = asked;
  finished = false;
  $("counter").hidden = false;
  $("load").blur();
  say("Ready: " + view.mappings.length + " keys (" + (view.scope === "lab" ? "your laboratory's" : "the defaults") + "). Count with the keyboard.");
  const kept = find(asked.test, asked.report);
  if (kept) {
    bringBack(kept);
  }
  draw();
}

// bringBack shows what was counted in this browser, by any user: several people may use one beside a microscope.
function bringBack(kept) {
  const lost = counter.bringBack(kept.count);
  subject.observer = kept.subject.observer;
  $("observer").value = subject.observer;
  say("Kept in this browser since " + moment(kept.at) + ": " + counted() + " cells of observer " + subject.observer + "." +
    (lost ? " " + lost + " cells have no key any more and are left out." : " Count on if they are yours, or start again."),
    lost ? "warn" : "good");
}

function wbc() {
  const text = $("wbc").value.trim();
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

function row(share) {
  const tr = document.createElement("tr");
  const cell = cells.get(share.cell_id) || { name: "Cell " + share.cell_id, bg_color_hex: "#888888" };
  const keys = share.keys.flatMap((name, i) => {
    const key = document.createElement("kbd");
    key.textContent = name;
    return i ? [" or ", key] : [key];
  });
  const chip = document.createElement("span");
  chip.className = "chip";
  chip.style.backgroundColor = cell.bg_color_hex;
  tr.dataset.cell = share.cell_id;
  tr.append(td(...keys), td(chip, cell.name), number(share.count), number(share.percent + (share.include_in_total ? " %" : " per 100")), number(share.absolute === null ? "" : share.absolute.toFixed(2)));
  return tr;
}

function td(...content) {
  const cell = document.createElement("td");
  cell.append(...content);
  return cell;
}

function number(text) {
  const cell = td(String(text));
  cell.className = "number";
  return cell;
}

// draw shows the count, and keeps it in this browser.
function draw(hit = null) {
  keep(subject, counter.kept());
  const result = differential(counter.tallies(), wbc(), $("corrected-already").checked);
  const rows = (included) => result.shares.filter((s) => s.include_in_total === included).map(row);
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

// moved tells that the fields name another test or report than the one whose keys were loaded.
function moved() {
  return Number($("test").value) !== subject.test || subject.report > 0 && Number($("report").value) !== subject.report;
}

// lock keeps a count with the test and report whose keys were loaded.
function lock() {
  $("test").disabled = counted() > 0;
  $("report").disabled = counted() > 0 && subject.report > 0;
}

let audio = null;

// beep tells without a look away from the eyepiece that the target is reached.
function beep() {
  if (!$("sound").checked) {
    return;
  }
  audio ??= new AudioContext();
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  volume.gain.value = 0.2;
  tone.frequency.value = 880;
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.3);
  document.body.dataset.beeps = Number(document.body.dataset.beeps || 0) + 1;
}

// press takes a key: Enter ends a count wherever the focus is, all others belong to a field or button that has the focus
// when it uses them. A key that is held repeats itself, which no one counted.
function press(event) {
  if (!counter || busy || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const key = event.key === " " ? "Space" : event.key;
  if (key === "Enter" && counted() > 0) {
    event.preventDefault();
    if (!event.repeat) {
      finish();
    }
    return;
  }
  const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
  const pushing = event.target.closest("button, [type=checkbox]") && (key === "Space" || key === "Enter");
  if (typing && counter.cellOf(key) && !/^[0-9eE]$/.test(key)) {
    say("The keys belong to the field that has the focus. Leave it, with Tab or a click, to count.", "warn");
  }
  if (finished || typing || pushing) {
    return;
  }
  const counts = counter.cellOf(key);
  if (key !== "Backspace" && !counts) {
    return;
  }
  event.preventDefault();
  if (event.repeat) {
    return;
  }
  if (key === "Backspace") {
    undo();
    return;
  }
  count(key);
}

function count(key) {
  if (moved()) {
    say("The keys of test " + subject.test + (subject.report ? " and report " + subject.report : "") +
      " are loaded, so this cell is not counted. Load the keys of what the fields say.", "warn");
    return;
  }
  const hit = counter.press(key);
  if (!hit) {
    say(counter.target + " cells are counted, so this one is not. End the count, or count on.", "warn");
    return;
  }
  draw(hit);
  if (counter.reached()) {
    beep();
    say(counter.target + " cells are counted. End the count, or count on.", "good");
  }
}

function undo() {
  if (busy) {
    return;
  }
  const taken = counter.undo();
  finished = false;
  draw();
  say(taken ? "Taken back: " + (cells.get(taken.cell_id)?.name || taken.keys[0]) : "Nothing to take back.");
}

// finish keeps the count with the report whose keys were loaded. Without a network nothing is lost: the count stays on the
// page and in this browser.
async function finish() {
  if (busy) {
    return;
  }
  if (!counted()) {
    say("Nothing is counted yet.", "warn");
    return;
  }
  const report = subject.report || Number($("report").value);
  const { test, observer } = subject;
  finished = true;
  draw();
  if (!report) {
    say("The count has ended. Enter a report and end it again to keep it, or count on.", "good");
    return;
  }
  say("Saving …");
  busy = true;
  const counts = counter.tallies().map(({ cell_id, count, include_in_total }) => ({ cell_id, count, include_in_total }));
  try {
    await ask(test + "/counts/" + report, { observer, counts }, { method: "PUT" });
  } catch (error) {
    busy = finished = false;
    draw();
    say(error.message, "bad");
    return;
  }
  // The next count may begin now: keys that are pressed while the comparison loads are counted.
  const saved = "Saved as observer " + observer + " of report " + report + ".";
  busy = false;
  empty();
  subject.report = report;
  say(saved, "good");
  await compare().catch((error) => say(saved + " The comparison could not be loaded: " + error.message, "warn"));
}

// empty begins the next count.
function empty() {
  counter.clear();
  finished = false;
  draw();
}

async function startAgain() {
  if (!busy && await sure(counted() + " cells are counted and not saved. Give them up and start again?", "Start again")) {
    empty();
    say("Started again.");
  }
}

function countOn() {
  if (busy) {
    return;
  }
  if (counter.reached()) {
    counter.more();
  }
  finished = false;
  draw();
  say("Counting on to " + counter.target + ".");
}

// observe changes who counts. Cells of one observer become another's only when someone says so.
async function observe() {
  const observer = Number($("observer").value);
  $("observer").blur();
  if (!counter || observer === subject.observer) {
    return;
  }
  if (busy) { // what is being saved stays the one's who counted it
    $("observer").value = subject.observer;
    return;
  }
  if (!(await sure(counted() + " cells were counted as observer " + subject.observer + ". Are they observer " + observer + "'s?", "They are observer " + observer + "'s"))) {
    $("observer").value = subject.observer;
    return;
  }
  forget(subject);
  subject.observer = observer;
  draw();
}

// compare shows how far the two observers of the report agree.
async function compare() {
  $("comparison").hidden = true;
  if (!subject.report) {
    return;
  }
  const body = await ask(subject.test + "/counts/" + subject.report);
  $("agreements").replaceChildren(...body.comparison.map((a) => {
    const tr = document.createElement("tr");
    const verdict = td(a.within_chance ? "agree" : "differ");
    verdict.className = a.within_chance ? "" : "differs";
    tr.append(td(cells.get(a.cell_id)?.name || "Cell " + a.cell_id), number(a.first_percent.toFixed(1) + " %"), number(a.second_percent.toFixed(1) + " %"),
      td(a.lower_limit.toFixed(1) + " to " + a.upper_limit.toFixed(1) + " %"), verdict);
    return tr;
  }));
  $("comparison").hidden = body.comparison.length === 0;
}

$("setup").addEventListener("submit", load);
$("observer").addEventListener("change", observe);
$("undo").addEventListener("click", undo);
$("finish").addEventListener("click", finish);
$("more").addEventListener("click", countOn);
$("clear").addEventListener("click", startAgain);
$("wbc").addEventListener("input", () => counter && draw());
$("corrected-already").addEventListener("change", () => counter && draw());
document.addEventListener("keydown", press);
header();
// What was clicked gives the keys back to the counter.
document.addEventListener("click", (event) => event.target.closest("#counter button, [type=checkbox]")?.blur());

const asked = new URLSearchParams(location.search);
for (const name of ["test", "report", "observer"]) {
  if (asked.has(name)) {
    $(name).value = asked.get(name);
  }
}
const left = asked.has("test") ? null : find(0, 0);
if (left) {
  $("test").value = left.subject.test;
  $("report").value = left.subject.report || "";
}
if (asked.has("test") || left) {
  $("setup").requestSubmit();
}
