import { Counter, differential } from "./count.js";

const $ = (id) => document.getElementById(id);
const base = "/api-v3/cell-counter-mappings/";

let counter = null;
let cells = new Map();
let finished = false;

function say(text, kind = "") {
  $("message").className = "message " + kind;
  $("message").textContent = text;
}

// ask calls the service and returns its answer; the error is a sentence for the person at the microscope.
async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(base + path, { ...options, headers: { "Content-Type": "application/json" } });
  } catch {
    throw new Error("The service cannot be reached. Counting goes on here; try again when the network is back.");
  }
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) {
    throw new Error("Nobody is logged in. Log in to the platform in this browser, then load the keys again.");
  }
  if (!response.ok) {
    throw new Error(body.message || "The service answered " + response.status + ". Try again.");
  }
  return body;
}

async function load(event) {
  event.preventDefault();
  say("Loading the keys …");
  try {
    const test = Number($("test").value);
    const [view, list] = await Promise.all([ask(String(test)), ask("cells/")]);
    if (view.mappings.length === 0) {
      say("No keys are mapped for this test. Map them first, then load them again.", "warn");
      return;
    }
    cells = new Map(list.cells.map((c) => [c.id, c]));
    counter = new Counter(view.mappings, view.target_count);
    finished = false;
    $("counter").hidden = false;
    $("load").blur();
    say("Ready: " + view.mappings.length + " keys (" + (view.scope === "lab" ? "your laboratory's" : "the defaults") + "). Count with the keyboard.");
    draw();
    await compare(false);
  } catch (error) {
    say(error.message, "bad");
  }
}

function wbc() {
  const text = $("wbc").value.trim();
  return text === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

function row(share, mapping) {
  const tr = document.createElement("tr");
  const cell = cells.get(share.cell_id) || { name: "Cell " + share.cell_id, bg_color_hex: "#888888" };
  const key = document.createElement("kbd");
  key.textContent = mapping.key;
  const chip = document.createElement("span");
  chip.className = "chip";
  chip.style.backgroundColor = cell.bg_color_hex;
  tr.dataset.cell = share.cell_id;
  tr.append(td(key), td(chip, cell.name), number(share.count), number(share.percent + (share.include_in_total ? " %" : " per 100")), number(share.absolute === null ? "" : share.absolute.toFixed(2)));
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

function draw(hit = null) {
  const result = differential(counter.tallies(), wbc());
  const keyOf = (share) => counter.mappings.find((m) => m.cell_id === share.cell_id);
  const rows = (included) => result.shares.filter((s) => s.include_in_total === included).map((s) => row(s, keyOf(s)));
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
  $("more").hidden = !counter.reached() || finished;
  $("corrected").hidden = result.corrected === null || result.corrected === wbc();
  $("corrected").textContent = result.corrected === null ? "" : "White cell count without nucleated red cells: " + result.corrected.toFixed(2);
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

function press(event) {
  if (!counter || finished || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) {
    return;
  }
  if (event.key === "Backspace") {
    event.preventDefault();
    undo();
    return;
  }
  if (event.key === "Enter" && !event.target.closest("button")) {
    event.preventDefault();
    finish();
    return;
  }
  const hit = counter.press(event.key === " " ? "Space" : event.key);
  if (!hit) {
    return;
  }
  event.preventDefault();
  draw(hit);
  if (counter.reached()) {
    beep();
    say(counter.target + " cells are counted. End the count, or count on.", "good");
  }
}

function undo() {
  const taken = counter.undo();
  draw();
  say(taken ? "Taken back: " + (cells.get(taken.cell_id)?.name || taken.key) : "Nothing to take back.");
}

// finish keeps the count with the report. Without a network nothing is lost: the count stays on the page.
async function finish() {
  if (counter.history.length === 0) {
    say("Nothing is counted yet.", "warn");
    return;
  }
  const report = Number($("report").value);
  finished = true;
  draw();
  if (!report) {
    say("The count has ended. Enter a report and end it again to keep it.", "good");
    finished = false; // the button to count on stays away
    return;
  }
  say("Saving …");
  try {
    await ask($("test").value + "/counts/" + report, {
      method: "PUT", body: JSON.stringify({ observer: Number($("observer").value), counts: counter.tallies() }),
    });
    // The next count may begin now: keys that are pressed while the comparison loads are counted.
    again();
    say("Saved as observer " + $("observer").value + " of report " + report + ".", "good");
    await compare(true);
  } catch (error) {
    again();
    say(error.message, "bad");
  }
}

// again lets keys count.
function again() {
  finished = false;
  draw();
}

// compare shows how far the two observers of the report agree.
async function compare(always) {
  const report = Number($("report").value);
  $("comparison").hidden = true;
  if (!report) {
    return;
  }
  const body = await ask($("test").value + "/counts/" + report).catch((error) => {
    if (always) {
      throw error;
    }
    return { comparison: [] };
  });
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
$("undo").addEventListener("click", undo);
$("finish").addEventListener("click", finish);
$("more").addEventListener("click", () => { counter.more(); draw(); say("Counting on to " + counter.target + "."); $("more").blur(); });
$("clear").addEventListener("click", () => { counter.clear(); draw(); say("Started again."); $("clear").blur(); });
$("wbc").addEventListener("input", () => counter && draw());
document.addEventListener("keydown", press);

const asked = new URLSearchParams(location.search);
for (const name of ["test", "report", "observer"]) {
  if (asked.has(name)) {
    $(name).value = asked.get(name);
  }
}
if (asked.has("test")) {
  $("setup").requestSubmit();
}
