// Counters of the home page: each link that the user may open shows the number that the linked page shows.
import { request } from "/assets/lab.js";
import { currentLogin, header, mayUse } from "/assets/shell.js";
import { withTotal } from "/assets/worklist.js";

const everyMs = 10000;
const rateMs = 60000; // the time over which a rate is counted

// listed returns the total of a list as text with a singular or plural noun.
const listed = (path, one, many) => request(`${path}?limit=1`).then((list) => withTotal(list, one, many));
const figures = {
  found: () => request("/api/v1/users/search", { query: "rahul", size: 1 }).then((a) => `${a.total} called Rahul, found in ${a.took_ms} ms`),
  waiting: () => request("/operation/critical-callout/open").then((a) => `${a.open.length}${a.limit_reached ? " or more" : ""} waiting`),
  unread: () => request("/api-v3/notifications/all?limit=1").then((a) => `${a.unread_count} unread`),
  cells: () => listed("/api-v3/cell-counter-mappings/waiting", "smear waits for a count", "smears wait for a count"),
  editing: () => listed("/api-v3/report/external-edit/held", "report is edited", "reports are edited"),
  bills: () => listed("/api-v3/finance/bill/split/today", "bill of today can be split", "bills of today can be split"),
};

// refresh updates the numbers and hides the links that the user may not use.
async function refresh() {
  const login = await currentLogin();
  await Promise.all([count(), ...Object.entries(figures).map(async ([id, figure]) => {
    const place = document.getElementById(id);
    const hide = () => { place.closest("li").hidden = true; };
    if (!mayUse(login, place.closest("a").pathname)) return hide();
    try {
      place.textContent = await figure();
    } catch (problem) {
      if (problem.status === 403) hide();
      place.textContent = "";
    }
  })]);
}

const counted = []; // {at, numbers}, the oldest first

// count shows the total that each service has counted and, from the second reading on, the rate per minute.
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
if (!person.has_search) delete figures.found;
if (!person.anonymous) {
  refresh();
  setInterval(() => document.hidden || refresh(), everyMs);
}
