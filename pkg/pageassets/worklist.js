// Lists of waiting work. An entry links to the page on which the work is done.
import { clock, element, link, request } from "./lab.js";

const pageSize = 50;

// withTotal returns the total of a list as text with a singular or plural noun.
export const withTotal = ({ total, limit_reached: more }, one, many) => `${total}${more ? " or more" : ""} ${total === 1 && !more ? one : many}`;

// workList fills a section with a list: {path, entries, title, heads, row, empty}. entries names the list in the response of path,
// title(response) is its heading, row(entry) returns {id, href, cells} with the text of the link first, and empty is the text shown for an
// empty list. The list is loaded again when the page comes into view. It returns {show}, which shows or hides it.
export function workList(section, { path, entries, title, heads, row, empty }) {
  const heading = element("h2"), state = element("p", "dim"), body = element("tbody"), more = element("button", "", "Show more");
  const columns = heads.map((head) => Object.assign(element("th", "", head), { scope: "col" }));
  const table = element("div", "wide", element("table", "", element("thead", "", element("tr", "", ...columns)), body));
  Object.assign(table, { tabIndex: 0, role: "group", ariaLabel: "Table" });
  state.setAttribute("role", "status");
  more.type = "button";
  more.addEventListener("click", () => load(last));
  table.hidden = more.hidden = true;
  section.replaceChildren(heading, state, table, more);
  let last = null; // id of the last entry shown
  let loads = 0; // number of the latest load; responses to earlier ones are ignored

  async function load(before) {
    const own = ++loads;
    try {
      const response = await request(`${path}?limit=${pageSize}${before ? `&before=${before}` : ""}`);
      if (own !== loads) return;
      const rows = response[entries].map(row);
      body.replaceChildren(...(before ? body.children : []), ...rows.map(line));
      last = rows.at(-1)?.id ?? last;
      heading.textContent = title(response);
      state.textContent = response.total ? `As of ${clock(new Date())}.` : empty;
      table.hidden = response.total === 0;
      more.hidden = rows.length < pageSize;
    } catch (problem) {
      if (own !== loads) return;
      heading.textContent = ""; // its number may no longer be true
      state.textContent = `The list cannot be shown. ${problem.message}`;
      table.hidden = more.hidden = true;
    }
  }

  function line({ href, cells: [first, ...others] }) {
    const anchor = link(href, first);
    const tr = element("tr", "", element("td", "", anchor), ...others.map((text) => element("td", "", text)));
    tr.style.cursor = "pointer";
    tr.addEventListener("click", (event) => event.target === anchor || anchor.click());
    return tr;
  }

  document.addEventListener("visibilitychange", () => document.hidden || section.hidden || load());
  return {
    show(on) {
      section.hidden = !on;
      if (on) load();
    },
  };
}
