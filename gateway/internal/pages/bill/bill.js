// Page of one bill and all bills that were split from it. While the user chooses tests for another split, the page shows the
// amounts that the server calculates for it.
import { onlyOnce, request, element, minute } from "../assets/lab.js";
import { header } from "../assets/shell.js";
import { chooseOne, describe, endQuestion, patientBar } from "../assets/find.js";
import { withTotal, workList } from "../assets/worklist.js";

const base = "/api-v3/finance/bill/split/";
const amountNames = { billTotalAmount: "Total", billConcession: "Concession", billAdditionalAmount: "Additional", vat: "VAT", TDSAmount: "TDS",
  co_pay_amount: "Co-pay", deductible_amount: "Deductible", billAdvance: "Advance", patientPayableAmount: "Patient pays" };

const $ = (id) => document.getElementById(id);
const money = new Intl.NumberFormat("en-IN", { style: "currency", currency: "INR" });
const filterFrom = 10; // minimum number of tests for which the filter is shown
let shownBill = ""; // id of the bill that the user chose, as text: it may be above 2^53
let bills = [];
let chosen = new Set(); // ids of the tests that go to the new bill
let post = onlyOnce(); // sends splits and their undoing
let choice = 0; // number of the latest choice of a bill; responses to earlier ones are ignored
let calculation = 0; // number of the latest calculation; responses to earlier ones are ignored

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

function problem(...texts) {
  $("problems").replaceChildren(...texts.map((text) => element("p", "message warn", text)));
}

const nameOf = (test) => test.name || `Test ${test.id}`;

const price = (test) => test.amount - test.concession;

function testLine(test, choosable) {
  const amount = element("span", "amount", test.profile_id ? "" : money.format(price(test)));
  if (test.is_gone) return element("li", "gone", nameOf(test));
  if (test.profile_id || !choosable) return element("li", test.profile_id ? "child" : "", element("label", "", nameOf(test), amount));
  const box = element("input");
  box.type = "checkbox";
  box.checked = chosen.has(test.id);
  box.value = test.id;
  box.addEventListener("change", () => pick([box]));
  return element("li", "", element("label", "", box, nameOf(test), amount));
}

// pick adds the tests of checked boxes to the choice and removes the tests of the others.
function pick(boxes) {
  for (const box of boxes) {
    if (box.checked) chosen.add(Number(box.value));
    else chosen.delete(Number(box.value));
  }
  calculate();
}

// filter returns a field that hides tests by their names, and a box that chooses all shown tests.
function filter(list) {
  const lines = [...list.children];
  const field = element("input");
  Object.assign(field, { type: "search", autocomplete: "off", id: "filter" });
  const all = element("input");
  Object.assign(all, { type: "checkbox", id: "select-all" });
  field.addEventListener("input", () => {
    let shown = true; // tests of a profile are shown or hidden with it
    for (const line of lines) {
      if (!line.classList.contains("child")) shown = line.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
      line.hidden = !shown;
    }
    all.checked = false;
  });
  all.addEventListener("change", () => {
    const boxes = [...list.querySelectorAll("li:not([hidden]) input")];
    boxes.forEach((box) => { box.checked = all.checked; });
    pick(boxes);
  });
  return element("div", "bar", element("label", "", "Filter tests", field), element("label", "check", all, "Select all shown"));
}

// inOrder returns the tests with the tests of a profile, and of profiles in it, directly after the profile.
function inOrder(tests) {
  const below = (profile) => tests.filter((test) => test.profile_id === profile.id).flatMap((test) => [test, ...below(test)]);
  return tests.filter((test) => !tests.some((other) => other.id === test.profile_id)).flatMap((test) => [test, ...below(test)]);
}

// canSplit reports whether tests of the bill may be chosen at all; the server checks the rest.
const canSplit = (bill) => !bill.merged_at && bill.source.trim().toLowerCase() === "insurance" && bill.tests.some((test) => !test.is_gone);

function card(bill) {
  const choosable = bill.id === shownBill;
  const article = element("article", choosable ? "chosen" : "", element("h2", "", `Bill ${bill.labBillId}`),
    element("p", "dim", `${bill.orderNumber} · ${bill.source}${bill.merged_at ? " · undone" : ""}`));
  article.dataset.bill = bill.id;
  const list = element("ul", "", ...inOrder(bill.tests).map((test) => testLine(test, choosable)));
  if (choosable && canSplit(bill) && bill.tests.length >= filterFrom) article.append(filter(list));
  article.append(list, element("div", "total", "Total", element("span", "", money.format(bill.amounts.billTotalAmount))));
  const bar = element("p", "bar");
  if (bill.parent_bill_id && !bill.merged_at) bar.append(button("Undo this split", () => merge(bill)));
  if (!choosable && canSplit(bill)) bar.append(button("Choose tests of this bill", () => choose(bill.id)));
  article.append(bar);
  return article;
}

function button(text, action) {
  const b = element("button", "", text);
  b.type = "button";
  b.addEventListener("click", () => action().catch((wrong) => say(wrong.message, true)));
  return b;
}

function show() {
  today.show(bills.length === 0);
  $("back").hidden = bills.length === 0;
  $("family").replaceChildren(...bills.map(card));
  $("split").hidden = $("decide").hidden = !bills.some((bill) => bill.id === shownBill && canSplit(bill));
  askForTests();
}

function askForTests() {
  calculation++;
  $("sum").textContent = "No test is chosen.";
  $("sums").hidden = true;
  $("do").disabled = true;
  problem("Choose the tests that go to a new bill. Choosing a profile includes all its tests.");
}

// textOf returns an id as text, because ids may exceed 2^53; named returns a bill with such ids.
const textOf = (thing, field) => thing[`${field}_text`] ?? (thing[field] === null ? null : String(thing[field]));
const named = (bill) => ({ ...bill, id: textOf(bill, "id"), parent_bill_id: textOf(bill, "parent_bill_id") });

async function load() {
  const own = choice, bill = shownBill;
  const response = await request(`${base}${bill}/family`);
  if (own !== choice || bill !== shownBill) return; // the user chose another bill meanwhile
  bills = response.bills.map(named);
  chosen = new Set();
  show();
}

async function choose(id, match = { bill_id: id }) {
  const own = ++choice;
  let response;
  try {
    response = await request(`${base}${id}/family`);
  } catch (wrong) {
    if (own === choice) throw wrong;
  }
  if (own !== choice) return; // the user chose another bill meanwhile
  [shownBill, bills, chosen, post] = [String(id), response.bills.map(named), new Set(), onlyOnce()];
  const shown = new URLSearchParams(location.search);
  const again = shown.has("number") || shown.get("bill") === String(id);
  history[again ? "replaceState" : "pushState"](null, "", `?bill=${id}`);
  show();
  say(bills.length > 1 ? `${bills.length} bills of one order.` : $("split").hidden ? "Only insurance bills with tests can be split." : "This bill has not been split.");
  await patientBar(match);
}

// billsOf returns the bills that a typed number may mean.
const billsOf = ({ bill }) => (bill ? [{ key: bill.bill_id, text: `Bill ${bill.lab_bill_id}, order ${bill.order_number}` }] : []);

async function find(typed) {
  choice++;
  const { key, match } = await chooseOne(typed, $("choices"), "bill", billsOf);
  await choose(key, match ?? undefined);
}

function failed(wrong) {
  if (wrong.name === "AbortError") return; // another number was typed
  choice++;
  [shownBill, bills] = ["", []];
  show();
  patientBar(null);
  say(wrong.message, true);
}

const order = (extra) => ({ test_ids: [...chosen], new_source: $("source").value, ...extra });

// calculate lets the server check the split and shows the resulting amounts or the problems. Nothing is changed.
async function calculate() {
  const own = ++calculation;
  $("do").disabled = true;
  if (chosen.size === 0) return askForTests(); // keeps the boxes and the focus
  const tests = bills.find((bill) => bill.id === shownBill).tests.filter((test) => !test.profile_id && !test.is_gone);
  const moving = tests.filter((test) => chosen.has(test.id));
  $("sum").textContent = `${moving.length} of ${tests.length} tests chosen: ${money.format(moving.reduce((sum, test) => sum + price(test), 0))}`;
  try {
    const response = await request(base + shownBill, order({ is_calculate: true }));
    if (own !== calculation) return;
    problem(...[...response.failed_validation, ...response.warnings].map((one) => one.label || one.message));
    $("do").disabled = response.failed_validation.length > 0 || response.warnings.some((one) => one.blocking);
    $("sums").hidden = !response.bill;
    if (response.bill) sums(response.bill, response.split_bill);
  } catch (wrong) {
    if (own === calculation) problem(wrong.message);
  }
}

function sums(stays, goes) {
  const now = bills.find((bill) => bill.id === shownBill).amounts;
  const rows = Object.entries(amountNames).filter(([field]) => now[field] || stays[field] || goes[field] || field === "billTotalAmount");
  $("amounts").replaceChildren(...rows.map(([field, name]) => element("tr", field === "billTotalAmount" ? "total-row" : "", element("td", "", name),
    ...[now, stays, goes].map((amounts) => element("td", "number", money.format(amounts[field]))))));
}

async function split() {
  $("do").disabled = true;
  const { id, labBillId } = bills.find((bill) => bill.id === shownBill);
  try {
    const { data } = await post(base + id, order());
    say(`Bill ${labBillId} was split. Bill ${data.new_bill.labBillId} was created: ${money.format(data.new_bill.total_amount)}.`);
    await load().catch((wrong) => problem(wrong.message));
  } catch (wrong) {
    const texts = wrong.response?.failed_validation?.length ? wrong.response.failed_validation.map((one) => one.label || one.message) : [wrong.message];
    if (id !== shownBill) return say(`Bill ${labBillId} was not split. ${texts.join(" ")}`, true); // the user chose another bill meanwhile
    if (wrong.status === 400 || wrong.status === 409) await load().catch(() => {}); // the bill was changed meanwhile
    else $("do").disabled = false;
    problem(...texts);
  }
}

async function merge(bill) {
  if (!confirm(`Put the tests of bill ${bill.labBillId} back? The bill is cancelled and stays empty.`)) return;
  await post(`${base}${bill.id}/merge`, {});
  if (bill.id === shownBill) shownBill = bill.parent_bill_id;
  await load();
  say(`The split that made bill ${bill.labBillId} is undone.`);
}

$("source").addEventListener("change", calculate);
$("do").addEventListener("click", split);
$("bill").addEventListener("input", endQuestion);
$("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  find($("bill").value.trim()).catch(failed);
});
await header();
const today = workList($("today"), {
  path: `${base}today`, entries: "bills", heads: ["Bill", "Patient", "Organization", "Tests", "Amount", "Time"],
  title: (response) => withTotal(response, "bill of today can be split", "bills of today can be split"),
  empty: "No insurance bill of today can be split. For a bill of another day, type or scan its number above.",
  row: (bill) => ({ id: textOf(bill, "id"), href: `?bill=${textOf(bill, "id")}`,
    cells: [`Bill ${bill.labBillId}`, describe(bill.patient), bill.organization, String(bill.tests), money.format(bill.amount), minute(new Date(bill.bill_time))] }),
});
window.addEventListener("popstate", () => location.reload()); // Back shows the bill before, or the list
const parameters = new URLSearchParams(location.search);
if (/^[1-9]\d*$/.test(parameters.get("bill"))) choose(parameters.get("bill")).catch(failed);
else if (parameters.get("number")) find(parameters.get("number")).catch(failed);
else today.show(true);
