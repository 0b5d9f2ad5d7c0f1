// What each page would show the person who is signed in, as a number.
import { ask, header } from "/assets/lab.js";

const everyMs = 10000;

const figures = {
  waiting: () => ask("/operation/critical-callout/open").then((a) => `${a.open.length}${a.limit_reached ? " or more" : ""} waiting`),
  unread: () => ask("/api-v3/notifications/all").then((a) => `${a.unread_count} unread`),
  cells: () => ask("/api-v3/cell-counter-mappings/cells").then((a) => `${a.cells.length} kinds of cells`),
  editing: () => ask("/api-v3/report/external-edit/7001").then((a) => (a.author_name ? `${a.author_name} edits report 7001` : "report 7001 is free")),
  bills: () => ask("/api-v3/finance/bill/split/9011/family").then((a) => `bill 9011: ${a.bills.length === 1 ? "not split" : a.bills.length + " bills"}`),
};

async function refresh() {
  await Promise.all(Object.entries(figures).map(async ([id, figure]) => {
    document.getElementById(id).textContent = (await figure().catch(() => "")) || "";
  }));
}

const person = await header();
if (person.name) {
  refresh();
  setInterval(() => document.hidden || refresh(), everyMs);
}
