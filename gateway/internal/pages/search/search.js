// Patient search with a single input. The page searches shortly after the last keystroke and aborts the previous request. Data
// of the laboratory is always inserted as text, never as markup.
import { request, element, link } from "../assets/lab.js";
import { header } from "../assets/shell.js";

const pauseMs = 150; // pause between the last keystroke and the request
const pageSize = 10;

const $ = (id) => document.getElementById(id);
let hits = [];
let chosen = -1;
let timer = 0;
let pending = null; // AbortController of the request in progress
let answered = ""; // the text that the hits are of
let duplicates = false; // whether to search for duplicates of a patient about to be registered, instead of for a patient

const fieldNames = {
  full_name: "name", contact: "telephone", alternate_contact: "other telephone", email: "email", user_id: "number", lab_patient_id: "patient no.",
  national_identity_number: "national no.", passport_no: "passport", bill_ids: "bill", lab_bill_ids: "bill no.", order_numbers: "order",
  date_of_birth: "birth date", lab_report_ids: "report", lrf_ids: "report no.", sample_ids: "sample", manual_sample_ids: "manual sample",
};

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

// marked returns the text as an array of strings and <mark> elements. It marks the typed words where they are at the beginning
// of a word, and in numbers at any position.
function marked(text, typed) {
  const words = typed.toLowerCase().split(/[\s,]+/).filter(Boolean).sort((a, b) => b.length - a.length);
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return [text]; // lower case changes the length of some letters, and offsets would differ
  const parts = [];
  let plain = 0;
  for (let at = 0; at < text.length;) {
    const begins = at === 0 || !/[\p{L}\p{M}\p{N}]/u.test(text[at - 1]) || /^\d+$/.test(text);
    const word = begins && words.find((w) => lower.startsWith(w, at));
    if (!word) {
      at++;
      continue;
    }
    parts.push(text.slice(plain, at), element("mark", "", text.slice(at, at + word.length)));
    at += word.length;
    plain = at;
  }
  parts.push(text.slice(plain));
  return parts.filter((p) => p !== "");
}

// reasons lists the matched fields that the result line does not show already, each with the value that contains a typed word,
// or otherwise with the last value.
function reasons(hit, typed) {
  const wanted = typed.toLowerCase().split(/\s+/);
  return hit.matched_fields.filter((f) => !["full_name", "contact", "lab_patient_id"].includes(f)).map((f) => {
    const values = [hit[f] ?? ""].flat().map(String);
    const value = values.find((v) => wanted.some((w) => v.toLowerCase().includes(w))) ?? values.at(-1) ?? "";
    return element("span", "dim", `${fieldNames[f] ?? f} `, ...marked(value, typed));
  });
}

// proposals describes for each matched field why the patient may be the one who is about to be registered.
const proposals = { full_name: () => "similar name", contact: (hit) => `same telephone ${hit.contact}`,
  alternate_contact: (hit) => `same telephone ${hit.alternate_contact}`, date_of_birth: (hit) => `same birth date ${hit.date_of_birth}` };

// guesses describe why a hit may be a different person.
const guesses = { sound: "sounds alike", typo: "similar spelling", tolerant: "something was left out" };

function why(hit, typed) {
  if (!duplicates) {
    const guess = guesses[hit.match];
    return [...(guess ? [element("span", "warn", guess)] : []), ...reasons(hit, typed)];
  }
  return hit.matched_fields.filter((f) => proposals[f]).map((f) => element("span", "dim", proposals[f](hit)));
}

function line(hit, n, typed) {
  const li = element("li", "", element("strong", "", ...marked(hit.full_name, typed)),
    element("span", "dim", [hit.age, hit.gender].filter(Boolean).join(" ")), element("span", "", ...marked(hit.contact, typed)),
    element("span", "dim", ...marked(hit.lab_patient_id, typed)), element("span", "why", ...why(hit, typed)));
  li.id = `hit-${n}`;
  li.role = "option";
  li.dataset.user = hit.user_id;
  li.addEventListener("click", () => { choose(n); open(); });
  return li;
}

function show(typed) {
  $("results").replaceChildren(...hits.map((hit, n) => line(hit, n, typed)));
  $("box").setAttribute("aria-expanded", String(hits.length > 0));
  $("detail").hidden = true;
  choose(hits.length ? 0 : -1);
}

function choose(n) {
  chosen = n;
  [...$("results").children].forEach((li, i) => li.setAttribute("aria-selected", String(i === n)));
  const li = $(`hit-${n}`);
  if (li) {
    $("box").setAttribute("aria-activedescendant", li.id);
    li.scrollIntoView({ block: "nearest" });
  } else {
    $("box").removeAttribute("aria-activedescendant");
  }
}

// failed shows an error with the next step. If the session has ended or lacks permission, it also removes all patient data from
// the page.
function failed(problem) {
  if (problem.name === "AbortError") return;
  if (problem.status === 401 || problem.status === 403 || duplicates) {
    hits = [];
    show("");
  }
  if (problem.status === 401) history.replaceState(null, "", location.pathname);
  if (problem.status === 401) say("Log in to search the patients of your laboratory.", true);
  else if (problem.status) say(problem.message, true);
  else say("The server cannot be reached. Check the network. The search is repeated when you type or the network is back.", true);
}

// search searches for the text in the box. It returns false if a later search or an opened patient replaced this search.
async function search() {
  const typed = $("box").value.trim();
  pending?.abort();
  if (typed === "") {
    [hits, answered, pending] = [[], "", null];
    show("");
    say("Type a name, a telephone number, or the number of a bill, an order, a sample or a report.");
    return true;
  }
  const mine = pending = new AbortController();
  say("Searching…");
  try {
    const response = await request("/api/v1/users/search", { query: typed, size: pageSize, search_key: duplicates ? "duplicate" : "all" }, { signal: mine.signal });
    if (mine !== pending) return false;
    [hits, answered] = [response.results ?? [], typed];
    show(typed);
    const many = response.total_relation === "gte" ? `more than ${response.total}` : String(response.total);
    const left = response.total > hits.length ? ` The best ${hits.length} are shown. Type more to narrow the search.` : "";
    const partly = response.degraded ? " Some data could not be searched. Try again in a moment." : "";
    const found = duplicates ? `${many} may be this patient: open each one before you register a new patient.` : `${many} found.`;
    const notFound = duplicates ? "No patient has this birth date or telephone number and a similar name." : "No patient found. Try part of the name, or the telephone number.";
    say((hits.length ? found + left : notFound) + partly, response.degraded);
  } catch (problem) {
    if (mine !== pending) return false;
    failed(problem);
  }
  return true;
}

// A search is stored in the state of the history entry, not in the address, because servers log addresses.
const remember = (user) => ({ query: $("box").value, duplicates, user });

// searchTyped searches for what the user typed, and remembers it for a reload and for Back.
function searchTyped() {
  clearTimeout(timer);
  history.replaceState(remember(), "", location.pathname);
  return search();
}

async function open() {
  if (!hits[chosen]) return;
  const id = hits[chosen].user_id;
  if (await openPatient(id)) history.pushState(remember(id), "", `?user=${id}`);
}

// restore shows the search and the patient of an entry of the history.
async function restore(entry) {
  clearTimeout(timer);
  $("box").value = entry?.query ?? "";
  duplicates = Boolean(entry?.duplicates);
  if (!await search()) return; // the user did something else meanwhile
  const user = entry?.user ?? Number(new URLSearchParams(location.search).get("user"));
  if (user > 0) await openPatient(user);
}

// openPatient shows a patient and returns true, or shows why it cannot.
async function openPatient(id) {
  const mine = pending = new AbortController();
  try {
    const { user } = await request(`/api/v1/users/${id}`, undefined, { signal: mine.signal });
    if (mine !== pending) return false;
    const numbers = (list) => list.slice(-20).flatMap((n, i) => [i ? ", " : "", link(`/bill/?number=${encodeURIComponent(n)}`, String(n))]);
    const rows = [["Name", user.full_name], ["Patient no.", user.lab_patient_id], ["Telephone", user.contact], ["Other telephone", user.alternate_contact],
      ["Email", user.email], ["Sex", user.gender], ["Born", user.date_of_birth], ["Age", user.age], ["Bills", numbers(user.lab_bill_ids)], ["Orders", numbers(user.order_numbers)],
      ["Samples", numbers(user.sample_ids)]].filter(([, v]) => v && v.length !== 0);
    const list = element("dl", "", ...rows.flatMap(([name, v]) => [element("dt", "", name), element("dd", "", ...[v].flat())]));
    $("detail").replaceChildren(list);
    $("detail").hidden = false;
    return true;
  } catch (problem) {
    if (mine === pending) failed(problem);
    return false;
  }
}

$("box").addEventListener("input", () => {
  clearTimeout(timer);
  duplicates = false;
  timer = setTimeout(searchTyped, pauseMs);
});

$("already").addEventListener("click", () => {
  duplicates = true;
  $("box").focus();
  searchTyped();
});

$("box").addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.isComposing) return;
  if (move && hits.length) {
    event.preventDefault();
    choose((chosen + move + hits.length) % hits.length);
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (event.repeat) return;
    if ($("box").value.trim() === answered) open();
    else searchTyped(); // the hits are of another text
  } else if (event.key === "Escape") {
    event.preventDefault();
    if (!$("detail").hidden) {
      $("detail").hidden = true;
      return;
    }
    $("box").value = "";
    duplicates = false;
    searchTyped();
  }
});

window.addEventListener("online", search);
window.addEventListener("popstate", (event) => restore(event.state));
await header();
if (history.state || location.search) restore(history.state);
