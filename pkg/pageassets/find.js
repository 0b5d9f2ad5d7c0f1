// Search by number: the command box of all pages, the field of a page that takes a printed number, and the bar that shows whose bill or
// report a page works on.
import { currentVisitor, element, link, request } from "./lab.js";

const pauseMs = 150; // between the last keystroke and the request
const maxPatients = 5; // patients in the command box

const kinds = { patient: "Patient", bill: "Bill", order: "Order", sample: "Sample", report: "Report" };

// describe returns one line about a patient.
export const describe = (p) => [p.full_name || "Without a name", [p.age, p.gender].filter(Boolean).join(" "), p.lab_patient_id].filter(Boolean).join(", ");

// lookUp requests the matches of a printed number from GET /api/v1/lookup: {matches, limit_reached, incomplete}.
const lookUp = (number, signal) => request(`/api/v1/lookup?number=${encodeURIComponent(number)}`, undefined, { signal });

const abandoned = () => new DOMException("another number was typed", "AbortError");
let asked = 0; // number of the latest call; responses to earlier ones are ignored
let abandon = null; // ends the question that chooseOne shows; null: none

// endQuestion ends a running chooseOne and its question: its promise is rejected with an AbortError.
export function endQuestion() {
  asked++;
  abandon?.();
  abandon = null;
}

// chooseOne returns the entry that a printed number means. entries(match) returns the entries of a match; equal entries
// have equal keys. The user has to choose, by the patient of each entry, unless a complete search found one entry and
// one patient. It throws an Error with a message for the user if nothing is found, and an AbortError if the user types
// another number meanwhile or chooses none. On a platform without search, the number is read as an id, which the page
// states.
export async function chooseOne(typed, place, what, entries) {
  endQuestion();
  const mine = asked;
  place.replaceChildren();
  const { has_search: hasSearch } = await currentVisitor();
  if (mine !== asked) throw abandoned();
  if (hasSearch === undefined) throw new Error("The server cannot be reached. Try again when the network is back.");
  if (!hasSearch) {
    if (!/^\d+$/.test(typed)) throw new Error("This platform has no search, so numbers on paper are not found. Type the id.");
    place.replaceChildren(element("p", "dim", `This platform has no search: ${typed} is read as an id and not as a number on paper.`));
    return { key: Number(typed), match: null };
  }
  const { matches, limit_reached: more, incomplete } = await lookUp(typed).catch((problem) => {
    throw mine === asked ? problem : abandoned();
  });
  if (mine !== asked) throw abandoned();
  const found = new Map();
  for (const match of matches) for (const entry of entries(match)) found.has(entry.key) || found.set(entry.key, { ...entry, match });
  if (found.size === 0) throw new Error(none(typed, what, matches));
  const patients = new Set(matches.map((match) => match.patient.user_id));
  if (found.size === 1 && patients.size === 1 && !more && !incomplete) return found.values().next().value;
  const doubt = more ? " There are more; only the newest are listed." : incomplete ? " The search is not complete: another patient may have this number." : "";
  return question(`${typed} may be one of these.${doubt}`, place, [...found.values()]);
}

function question(text, place, entries) {
  return new Promise((resolve, reject) => {
    const end = (settle) => {
      place.replaceChildren();
      abandon = null;
      settle();
    };
    abandon = () => end(() => reject(abandoned()));
    const button = (action, ...content) => {
      const b = element("button", "", ...content);
      b.type = "button";
      b.addEventListener("click", action);
      return b;
    };
    const buttons = entries.map((entry) => button(() => end(() => resolve(entry)), element("strong", "", entry.text), element("span", "dim", describe(entry.match.patient))));
    place.replaceChildren(element("p", "", text), ...buttons, button(endQuestion, "None of these"));
    buttons[0].focus();
  });
}

function none(typed, what, matches) {
  if (matches.length === 0) return `Nothing has the number ${typed}, or you may not see it. Check the number.`;
  const { kind, number, patient } = matches[0];
  return `${kinds[kind]} ${number} is of ${describe(patient)}, and there is no ${what} with this number.`;
}

// patientBar shows whose bill or report the page works on, and links each number. where is a known match, {bill_id} or {lab_report_id}. It
// returns the match, or null if there is none.
export async function patientBar(where) {
  const last = () => document.getElementById("patient")?.remove();
  last();
  if (!where || !(await currentVisitor()).has_search) return null;
  last(); // removes the bar of a concurrent call
  const bar = element("section", "patient");
  bar.id = "patient";
  bar.setAttribute("aria-label", "Patient");
  document.querySelector("main").prepend(bar);
  let match = where.patient ? where : null;
  try {
    match ??= (await request(`/api/v1/lookup?${new URLSearchParams(where)}`)).matches[0] ?? null;
  } catch (problem) {
    bar.append(element("p", "bad", `The patient cannot be shown. ${problem.message}`));
    return null;
  }
  bar.replaceChildren(...(match ? facts(match) : [element("p", "bad", "The patient cannot be shown: the patient was removed, or you may not see this patient.")]));
  return match;
}

function facts({ patient, bill, reports }) {
  const samples = [...new Set(reports.map((r) => r.sample_id).filter(Boolean))];
  const shown = [link(`/search/?user=${patient.user_id}`, patient.full_name || "Without a name", "name"),
    element("span", "", [patient.age, patient.gender].filter(Boolean).join(" ")),
    patient.lab_patient_id && fact("Patient", patient.lab_patient_id)];
  if (bill) {
    const number = element("span", "", element("span", "dim", "Bill "), link(`/bill/?bill=${bill.bill_id}`, String(bill.lab_bill_id)));
    shown.push(number, bill.order_number && fact("Order", bill.order_number));
  }
  shown.push(samples.length > 0 && fact(samples.length > 1 ? "Samples" : "Sample", samples.slice(0, 5).join(", ")), bill?.organization && element("span", "", bill.organization));
  return shown.filter(Boolean);
}

const fact = (name, value) => element("span", "", element("span", "dim", `${name} `), value);

// tasks returns the actions for a match as [text, address].
function tasks({ kind, patient, bill, reports }, may) {
  const list = [];
  if (bill && may("/bill/")) list.push([`Open bill ${bill.lab_bill_id}`, `/bill/?bill=${bill.bill_id}`]);
  if (bill && may("/callout/")) list.push([`Critical results of bill ${bill.lab_bill_id}`, `/callout/?bill=${bill.bill_id}`]);
  for (const report of reports) {
    const name = [report.test_name || `Test ${report.test_id}`, report.sample_id && `sample ${report.sample_id}`].filter(Boolean).join(", ");
    if (report.cell_counter && may("/cell-counter/")) list.push([`Count cells: ${name}`, `/cell-counter/?test=${report.test_id}&report=${report.lab_report_id}`]);
    if (kind !== "bill" && kind !== "order" && may("/external-edit/")) list.push([`Edit as a document: ${name}`, `/external-edit/?report=${report.lab_report_id}`]);
  }
  if (may("/search/")) list.push(["Open the patient", `/search/?user=${patient.user_id}`]);
  return list;
}

// commandBox returns the button of the command box, which also opens with "/" and Ctrl+K. The user types or scans a number or a name, and
// the box lists the actions for each match. may reports whether the login may use a page.
export function commandBox(may) {
  const input = element("input");
  Object.assign(input, { type: "search", id: "command-text", autocomplete: "off", spellcheck: false, maxLength: 128, placeholder: "Number or name" });
  for (const [name, value] of Object.entries({ role: "combobox", "aria-label": "Number on paper, barcode or name", "aria-expanded": "false", "aria-controls": "command-list", autocapitalize: "off" })) input.setAttribute(name, value);
  const list = element("div");
  list.id = "command-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "What can be done");
  const state = element("p", "dim", "Type or scan the number of a patient, bill, order, sample or report, or type a name.");
  state.setAttribute("role", "status");
  const dialog = element("dialog", "command", input, state, list);
  dialog.setAttribute("aria-label", "Find");
  document.body.append(dialog);

  const button = element("button", "find", "Find ", element("kbd", "", "/"));
  button.type = "button";
  button.addEventListener("click", open);
  function open() {
    dialog.showModal();
    input.select();
  }
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
    const wanted = event.key === "/" && !typing || event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (!wanted || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open();
  });

  let timer = 0;
  let pending = null; // AbortController of the request in progress
  let chosen = -1;
  const options = () => [...list.querySelectorAll("[role=option]")];
  function choose(n) {
    chosen = n;
    options().forEach((option, i) => option.setAttribute("aria-selected", String(i === n)));
    input.setAttribute("aria-activedescendant", options()[n]?.id ?? "");
    options()[n]?.scrollIntoView({ block: "nearest" });
  }
  function show(groups) {
    list.replaceChildren(...groups);
    options().forEach((option, i) => { option.id = `command-${i}`; });
    input.setAttribute("aria-expanded", String(groups.length > 0));
    choose(groups.length ? 0 : -1);
  }
  async function find() {
    clearTimeout(timer);
    pending?.abort();
    const typed = input.value.trim();
    const mine = pending = new AbortController();
    if (typed === "") return show([]);
    state.textContent = "Searching…";
    try {
      const { groups, incomplete } = await found(typed, may, mine.signal);
      if (mine !== pending) return;
      pending = null;
      show(groups);
      const doubt = incomplete ? " Not everything could be searched, so there may be more." : "";
      state.textContent = groups.length ? `Choose with the arrow keys, open with Enter.${doubt}` : `Nothing has the number or name ${typed}, or you may not see it.`;
    } catch (problem) {
      if (problem.name === "AbortError" || mine !== pending) return;
      pending = null;
      show([]);
      state.textContent = problem.message;
    }
  }
  input.addEventListener("input", () => {
    if (input.value.startsWith("/")) input.value = input.value.slice(1); // removes the key that opened the box
    clearTimeout(timer);
    pending?.abort();
    pending = new AbortController(); // while results are pending, Enter starts the search at once
    timer = setTimeout(find, pauseMs);
  });
  input.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const count = options().length;
    if (move && count) {
      event.preventDefault();
      choose((chosen + move + count) % count);
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (pending) find(); // a scanner sends Enter before the results are here
      else if (chosen >= 0) options()[chosen].click();
    }
  });
  return button;
}

// found returns the groups of the list: one for each match of the number, and one for the patients whose names match. A search that fails
// is only an error if the other one found nothing.
async function found(typed, may, signal) {
  const searches = [/\d/.test(typed) ? lookUp(typed, signal) : {},
    may("/search/") ? request("/api/v1/users/search", { query: typed, size: maxPatients }, { signal }).then((a) => a.results) : []];
  const settled = await Promise.allSettled(searches);
  const { matches = [], incomplete = false } = settled[0].value ?? {};
  const hits = settled[1].value ?? [];
  const failed = settled.find((one) => one.reason);
  if (failed && matches.length + hits.length === 0) throw failed.reason;
  const known = new Set(matches.map((m) => m.patient.user_id));
  const groups = matches.map((m) => group(`${kinds[m.kind]} ${m.number} · ${describe(m.patient)}`, tasks(m, may)));
  const others = hits.filter((hit) => !known.has(hit.user_id)).map((hit) => [describe(hit), `/search/?user=${hit.user_id}`]);
  return { groups: others.length ? [...groups, group("Patients", others)] : groups, incomplete: incomplete || Boolean(failed) };
}

let groups = 0;
function group(name, list) {
  const title = element("p", "title", name);
  title.id = `command-group-${++groups}`;
  const all = element("div", "", title, ...list.map(([text, address]) => {
    const option = link(address, text);
    option.setAttribute("role", "option");
    option.tabIndex = -1;
    return option;
  }));
  all.setAttribute("role", "group");
  all.setAttribute("aria-labelledby", title.id);
  return all;
}
