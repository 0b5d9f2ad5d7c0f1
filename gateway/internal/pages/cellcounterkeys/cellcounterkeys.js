// Page of the keys of a test: which key counts which cell into which parameter of the report. Only changed rows are sent, so that two
// people may map different keys at once.
import { element, request as send } from "../assets/lab.js";
import { header } from "../assets/shell.js";
import { ask } from "../assets/ask.js";
import { keyOf } from "../cell-counter/keys.js";
import { chip } from "../cell-counter/view.js";

const base = "/api-v3/cell-counter-mappings/";
const request = (path, body, options) => send(base + path, body, options);
const modifiers = ["Shift", "Control", "Alt", "AltGraph", "Meta"]; // modifier keys alone count nothing
const $ = (id) => document.getElementById(id);
let test = null; // {id, lab, may, own, target, hasDefaults} of the test that is shown
let rows = []; // {index, order, name, key, cell, apart, saved, note, tr} of each parameter; saved is {key, cell} or null
let cells = new Map(); // cell types by id
let waiting = null; // the row whose key is pressed next
let choice = 0; // number of the latest choice of a test; responses to earlier ones are ignored

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

function tell(text, kind = "good") {
  $("told").textContent = text;
  $("told").className = `message ${kind}`;
  $("told").hidden = text === "";
}

function button(text, action, id = "") {
  const b = Object.assign(element("button", "", ...[text].flat()), { type: "button", id });
  b.addEventListener("click", () => action(b));
  return b;
}

const states = { own: "keys of the laboratory", default: "default keys", none: "no keys yet" };

async function find(name) {
  const { tests, limit_reached: more } = await request(`tests?name=${encodeURIComponent(name)}`);
  $("tests").replaceChildren(...tests.map((one) => button([element("strong", "", one.name), element("span", "dim", states[one.mappings])], () => choose(one.test_id).catch(failed))));
  if (tests.length === 0) say("No test with a report format has this name. Type another part of its name.", true);
  else say(more ? "There are more tests. Type a part of the name." : "Choose a test.");
}

async function choose(id) {
  const own = ++choice;
  const [view, format, list] = await Promise.all([request(String(id)), request(`${id}/parameters`), request("cells/")]);
  if (own !== choice) return; // the user chose another test meanwhile
  cells = new Map(list.cells.map((cell) => [cell.id, cell]));
  test = { id, lab: format.lab_id, may: format.may_change, own: view.scope === "lab", target: view.target_count, hasDefaults: view.scope === "default" && view.mappings.length > 0 };
  const parameters = format.parameters.map((p) => ({ index: p.report_format_index, order: p.report_format_order, name: p.name + (p.unit ? `, ${p.unit}` : "") }));
  const at = (p) => `${p.index} ${p.order}`;
  const mapped = new Map(view.mappings.map((m) => [`${m.report_format_index} ${m.report_format_order}`, m]));
  for (const m of mapped.values()) {
    const p = { index: m.report_format_index, order: m.report_format_order, name: `Parameter ${m.report_format_index}, which the report no longer has` };
    if (!parameters.some((other) => at(other) === at(p))) parameters.push(p);
  }
  rows = parameters.map((p) => {
    const m = mapped.get(at(p));
    return { ...p, key: m?.key ?? "", cell: m?.cell_id ?? 0, apart: m?.include_in_total === false, saved: m ? { key: m.key, cell: m.cell_id } : null, note: "" };
  });
  history.replaceState(null, "", `?test=${id}`);
  $("tests").replaceChildren();
  $("title").textContent = format.test_name;
  show();
}

function show() {
  waiting = null;
  $("keys").hidden = false;
  $("scope").textContent = test.own ? "These are your laboratory's keys." : test.hasDefaults
    ? "These are the default keys. Your laboratory has none of its own: what you change here begins with a copy of the defaults."
    : "No keys are mapped for this test. Choose a key and a cell for each parameter that is counted, then save.";
  if (!test.may) $("scope").textContent += " Changing them needs the permission cell_counter_configure; ask an administrator of your laboratory.";
  $("target").value = test.target;
  $("copy").hidden = test.own || !test.hasDefaults || !test.may;
  $("reset").hidden = !test.own || !test.may;
  $("save").querySelector(".primary").hidden = !test.may;
  $("target").disabled = !test.may;
  $("count").href = `/cell-counter/?test=${test.id}`;
  $("rows").replaceChildren(...rows.map((row) => (row.tr = element("tr"))));
  rows.forEach(draw);
  say("");
}

// draw shows a row. The element that had the focus gets it again.
function draw(row) {
  const focus = row.tr.contains(document.activeElement) ? document.activeElement.dataset.part : "";
  const key = button(row === waiting ? "Press the key…" : row.key ? element("kbd", "", row.key) : "Choose a key", () => capture(row));
  key.setAttribute("aria-label", `Key of ${row.name}: ${row === waiting ? "press it" : row.key || "none"}`);
  key.setAttribute("aria-pressed", String(row === waiting));
  const select = element("select", "", new Option("No cell", "0"), ...[...cells.values()].filter((cell) => !cell.is_disable || cell.id === row.cell).map((cell) => new Option(cell.name, cell.id)));
  select.value = row.cell;
  select.setAttribute("aria-label", `Cell of ${row.name}`);
  select.addEventListener("change", () => {
    Object.assign(row, { cell: Number(select.value), note: "" });
    draw(row);
  });
  const note = element("td", row.note ? "bad" : "dim", row.note || (row.apart && row.cell === row.saved?.cell ? "counted separately from the total " : ""));
  const remove = button("Remove", () => drop(row).catch((problem) => tell(problem.message, "bad")));
  remove.setAttribute("aria-label", `Remove the key of ${row.name}`);
  if (test.own && test.may && row.saved) note.append(" ", remove);
  for (const [part, field] of Object.entries({ key, select, remove })) field.dataset.part = part;
  key.disabled = select.disabled = !test.may;
  const spot = cells.has(row.cell) ? [chip(cells.get(row.cell))] : [];
  row.tr.replaceChildren(element("td", "", row.name), element("td", "", key), element("td", "", ...spot, select), note);
  row.tr.querySelector(`[data-part="${focus}"]`)?.focus();
}

// capture takes the next key that is pressed as the key of a row.
function capture(row) {
  const last = waiting;
  waiting = row === last ? null : row;
  if (last) draw(last);
  draw(row);
}

function press(event) {
  if (!waiting || event.ctrlKey || event.metaKey || event.altKey || modifiers.includes(event.key)) return;
  const row = waiting;
  waiting = null;
  if (event.key !== "Tab") event.preventDefault();
  if (event.key !== "Tab" && event.key !== "Escape") {
    row.key = keyOf(event, () => false);
    row.note = "";
    row.cell ||= [...cells.values()].find((cell) => cell.default_key === row.key && !cell.is_disable)?.id ?? 0;
  }
  draw(row);
}

// changed returns the rows that differ from the stored ones, and notes what each incomplete row lacks.
function changed() {
  const list = rows.filter((row) => (row.key !== "" || row.cell !== 0) && (row.key !== row.saved?.key || row.cell !== row.saved?.cell));
  for (const row of list) {
    const same = rows.find((other) => other !== row && row.key !== "" && other.key.toLowerCase() === row.key.toLowerCase());
    row.note = row.key === "" ? "Choose a key, or no cell." : row.cell === 0 ? "Choose a cell." : same ? `The key ${row.key} is also on ${same.name}.` : "";
    draw(row);
  }
  return list;
}

// mappingOf returns the mapping of a row as the service stores it. With an unchanged cell it includes include_in_total, because a service of
// an earlier version treats two exchanged keys as changed cells and uses the default of each cell.
function mappingOf(row) {
  const mapping = { key: row.key, cell_id: row.cell, report_format_index: row.index, report_format_order: row.order };
  return row.cell === row.saved?.cell ? { ...mapping, include_in_total: !row.apart } : mapping;
}

async function save() {
  const list = changed();
  const target = Number($("target").value);
  if (list.some((row) => row.note)) return tell("Complete the rows with a note, then save again.", "warn");
  if (list.length === 0 && target === test.target) return tell("Nothing was changed.", "warn");
  const mappings = list.map(mappingOf);
  try {
    const { warnings } = await request(String(test.id), { lab_id: test.lab, mappings, copy_defaults: !test.own, target_count: target });
    await choose(test.id);
    tell(["Saved.", ...warnings.map((one) => `${list[one.index]?.name ?? ""}: ${one.message}.`)].join(" "), warnings.length ? "warn" : "good");
  } catch (problem) {
    const errors = problem.response?.errors ?? [];
    for (const { index, message } of errors.filter((one) => list[one.index])) {
      list[index].note = `${message}.`;
      draw(list[index]);
    }
    tell([problem.message, ...errors.filter((one) => !list[one.index]).map((one) => one.message)].join(" "), "bad");
  }
}

// isMoved reports whether the stored key of a test's row now belongs to another parameter.
async function isMoved(id, row) {
  const { mappings } = await request(String(id));
  const now = mappings.find((m) => m.key.toLowerCase() === row.saved.key.toLowerCase());
  return now !== undefined && (now.report_format_index !== row.index || now.report_format_order !== row.order);
}

// drop removes the stored key of a row. The service removes keys regardless of their parameter.
async function drop(row) {
  const { id, lab } = test; // the user may choose another test meanwhile
  if (await isMoved(id, row)) return tell(`Someone moved the key ${row.saved.key} to another parameter meanwhile, so it was not removed. Load the page again to see the keys.`, "warn");
  await request(`${id}?lab_id=${lab}&key=${encodeURIComponent(row.saved.key)}`, undefined, { method: "DELETE" });
  tell(`The key ${row.saved.key} counts nothing any more.`);
  Object.assign(row, { key: "", cell: 0, saved: null, note: "" });
  draw(row);
  row.tr.querySelector("button").focus();
}

async function copy() {
  await request(String(test.id), { lab_id: test.lab, mappings: [], copy_defaults: true, target_count: test.target });
  await choose(test.id);
  tell("Your laboratory has a copy of the default keys now. Changes of the defaults do not reach it.");
}

async function reset() {
  const { id, lab } = test; // the test that the question concerns; the user may have chosen another one, which is still loading
  if (!await ask(`Delete your laboratory's keys of ${$("title").textContent}? Everyone in the laboratory counts with the defaults again.`, "Delete the keys", "Keep the keys")) return;
  await request(`${id}?lab_id=${lab}&confirm=reset`, undefined, { method: "DELETE" });
  await choose(id);
  tell("Your laboratory counts with the defaults again.");
}

function failed(problem) {
  $("keys").hidden = true;
  say(problem.message, true);
}

$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  find($("name").value.trim()).catch(failed);
});
$("save").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
$("copy").addEventListener("click", () => copy().catch((problem) => tell(problem.message, "bad")));
$("reset").addEventListener("click", () => reset().catch((problem) => tell(problem.message, "bad")));
document.addEventListener("keydown", press, true);
await header();
const wanted = new URLSearchParams(location.search).get("test");
if (/^[1-9]\d*$/.test(wanted)) choose(Number(wanted)).catch(failed);
else find("").catch(failed);
