// Page of one bill and all bills that were split from it. While the user chooses tests for another split, the page shows the
// amounts that the server calculates for it.
import { request, element } from "../assets/lab.js";
import { header } from "../assets/shell.js";
import { chooseOne, endQuestion, patientBar } from "../assets/find.js";

const base = "/api-v3/finance/bill/split/";
const amountNames = { billTotalAmount: "Total", billConcession: "Concession", billAdditionalAmount: "Additional", vat: "VAT", TDSAmount: "TDS",
  co_pay_amount: "Co-pay", deductible_amount: "Deductible", billAdvance: "Advance", patientPayableAmount: "Patient pays" };

const $ = (id) => document.getElementById(id);
const money = new Intl.NumberFormat("en-IN", { style: "currency", currency: "INR" });
let shownBill = 0; // id of the bill that the user chose
let bills = [];
let chosen = new Set(); // ids of the tests that go to the new bill
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

function testLine(test, choosable) {
  const amount = element("span", "amount", test.profile_id ? "" : money.format(test.amount - test.concession));
  if (test.is_gone) return element("li", "gone", nameOf(test));
  if (test.profile_id || !choosable) return element("li", test.profile_id ? "child" : "", element("label", "", nameOf(test), amount));
  const box = element("input");
  box.type = "checkbox";
  box.checked = chosen.has(test.id);
  box.addEventListener("change", () => {
    if (box.checked) chosen.add(test.id);
    else chosen.delete(test.id);
    calculate();
  });
  return element("li", "", element("label", "", box, nameOf(test), amount));
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
  $("family").replaceChildren(...bills.map(card));
  $("split").hidden = !bills.some((bill) => bill.id === shownBill && canSplit(bill));
  askForTests();
}

function askForTests() {
  $("sums").hidden = true;
  $("do").disabled = true;
  problem("Choose the tests that go to a new bill. Choosing a profile includes all its tests.");
}

async function load() {
  const own = choice;
  const response = await request(`${base}${shownBill}/family`);
  if (own !== choice) return; // the user chose another bill meanwhile
  bills = response.bills;
  chosen = new Set();
  show();
}

async function choose(id, match = { bill_id: id }) {
  const own = ++choice;
  calculation++;
  let response;
  try {
    response = await request(`${base}${id}/family`);
  } catch (wrong) {
    if (own === choice) throw wrong;
  }
  if (own !== choice) return; // the user chose another bill meanwhile
  [shownBill, bills, chosen] = [id, response.bills, new Set()];
  history.replaceState(null, "", `?bill=${id}`);
  show();
  say(bills.length > 1 ? `${bills.length} bills of one order.` : $("split").hidden ? "Only insurance bills with tests can be split." : "This bill has not been split.");
  await patientBar(match);
}

// billsOf lists the bills of what a number names.
const billsOf = ({ bill }) => (bill ? [{ key: bill.bill_id, text: `Bill ${bill.lab_bill_id}, order ${bill.order_number}` }] : []);

async function find(typed) {
  choice++;
  const { key, match } = await chooseOne(typed, $("choices"), "bill", billsOf);
  await choose(key, match ?? undefined);
}

function failed(wrong) {
  if (wrong.name === "AbortError") return; // another number was typed
  choice++;
  $("family").replaceChildren();
  $("split").hidden = true;
  patientBar(null);
  say(wrong.message, true);
}

const order = (extra) => ({ test_ids: [...chosen], new_source: $("source").value, ...extra });

// calculate lets the server check the split and shows the resulting amounts or the problems. Nothing is changed.
async function calculate() {
  const own = ++calculation;
  $("do").disabled = true;
  if (chosen.size === 0) return askForTests(); // the boxes stay, with the focus
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

// idempotencyOptions returns request options with a new idempotency key. A repeated request with the same key does not split
// the bill twice.
const idempotencyOptions = () => ({ headers: { "Content-Type": "application/json", "Idempotency-Key": crypto.getRandomValues(new Uint32Array(4)).join("-") } });
let attempt = null; // {order, options} of a split whose response has not arrived; repeated with the same key

async function split() {
  $("do").disabled = true;
  const wanted = JSON.stringify(order());
  if (attempt?.order !== wanted) attempt = { order: wanted, options: idempotencyOptions() };
  try {
    const response = await request(base + shownBill, order(), attempt.options);
    attempt = null;
    await load();
    say(`Bill ${response.data.new_bill.labBillId} was created: ${money.format(response.data.new_bill.total_amount)}.`);
  } catch (wrong) {
    const texts = wrong.response?.failed_validation?.length ? wrong.response.failed_validation.map((one) => one.label || one.message) : [wrong.message];
    if (wrong.status === 400 || wrong.status === 409) { // the bill was changed meanwhile
      attempt = null;
      await load().catch(() => {});
    } else $("do").disabled = false;
    problem(...texts);
  }
}

async function merge(bill) {
  if (!confirm(`Put the tests of bill ${bill.labBillId} back? The bill is cancelled and stays empty.`)) return;
  await request(`${base}${bill.id}/merge`, {});
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
const parameters = new URLSearchParams(location.search);
if (Number(parameters.get("bill")) > 0) choose(Number(parameters.get("bill"))).catch(failed);
else if (parameters.get("number")) find(parameters.get("number")).catch(failed);
