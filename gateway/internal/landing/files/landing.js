// For each link of the home page, a number that the linked page would show the current user.
import { request } from "/assets/lab.js";
import { header } from "/assets/shell.js";

const everyMs = 10000;
const rateMs = 60000; // the time over which a rate is counted

const figures = {
  found: () => request("/api/v1/users/search", { query: "rahul", size: 1 }).then((a) => `${a.total} called Rahul, found in ${a.took_ms} ms`),
  waiting: () => request("/operation/critical-callout/open").then((a) => `${a.open.length}${a.limit_reached ? " or more" : ""} waiting`),
  unread: () => request("/api-v3/notifications/all").then((a) => `${a.unread_count} unread`),
  cells: () => request("/api-v3/cell-counter-mappings/cells").then((a) => `${a.cells.length} kinds of cells`),
  editing: () => request("/api-v3/report/external-edit/7001").then((a) => `${a.author_name} edits report 7001`)
    .catch((problem) => (problem.status === 404 ? "report 7001 is free" : "")),
  bills: () => request("/api-v3/finance/bill/split/9011/family").then((a) => `bill 9011: ${a.bills.length === 1 ? "not split" : a.bills.length + " bills"}`),
};

async function refresh() {
  await Promise.all([count(), ...Object.entries(figures).map(async ([id, figure]) => {
    document.getElementById(id).textContent = (await figure().catch(() => "")) || "";
  })]);
}

const counted = []; // {at, numbers}, the oldest first

// count shows how much each service has done, and from the second look on how much of it in a minute.
async function count() {
  const numbers = await request("/sign-in/counters").catch(() => ({}));
  counted.push({ at: Date.now(), numbers });
  while (counted.length > 2 && counted[1].at < Date.now() - rateMs) counted.shift();
  const first = counted[0];
  for (const figure of document.querySelectorAll("[data-unit]")) {
    const link = figure.closest("a").getAttribute("href");
    const n = numbers[link];
    const rate = Math.round(((n - first.numbers[link]) * 60000) / (Date.now() - first.at));
    figure.textContent = n === undefined ? "" : `${n} ${figure.dataset.unit}${counted.length > 1 && rate > 0 ? `, ${rate} a minute` : ""}`;
  }
}

const person = await header();
if (person.name) {
  refresh();
  setInterval(() => document.hidden || refresh(), everyMs);
}
