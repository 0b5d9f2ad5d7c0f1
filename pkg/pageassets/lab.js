// What all pages of the public listener share: how they ask, and the line at the top that says who looks and leads to the
// other pages.
const pages = [["/search/", "Patients"], ["/callout/", "Callouts"], ["/notifications/", "Notifications"],
  ["/cell-counter/", "Cell counter"], ["/external-edit/", "Documents"], ["/bill/", "Bills"]];

// element makes one. All texts of the laboratory are set as text, never as markup.
export function element(name, className, ...content) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...content);
  return e;
}

// visitor is who looks, {demo, anonymous, name, role, id}; demo is true where a visitor may choose a person.
let looked;
const visitor = () => looked ??= fetch("/sign-in/person").then((r) => r.json()).catch(() => ({}));

// enter leaves for a demo's first page, which comes back here once someone was chosen. It never returns.
function enter() {
  location.replace(`/?to=${encodeURIComponent(location.pathname + location.search)}`);
  return new Promise(() => {});
}

// ask sends a GET, or a POST when there is a body, and returns the answer. The error is a sentence for people, with the
// answer's status; 0 when there was none.
export async function ask(path, body, options = {}) {
  if (body !== undefined) {
    options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...options };
  }
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw Object.assign(new Error("The server cannot be reached. Try again when the network is back."), { status: 0 });
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401 && location.pathname !== "/" && (await visitor()).demo) return enter();
  const text = response.status === 401 ? "No one is logged in. Log in to the platform in this browser."
    : answer.message || `The server answered ${response.status}. Try again.`;
  throw Object.assign(new Error(text), { status: response.status, answer });
}

// Times are those of the laboratory once a page was told its zone, else of the browser, and have 24 hours.
let timeZone;
export const inZone = (name) => { timeZone = name || undefined; };

// clock is the time of a day, moment a time with its day, and minute the hour and minute as a field of a form has them.
export const clock = (date) => date.toLocaleTimeString(undefined, { timeStyle: "medium", hour12: false, timeZone });
export const moment = (when) => new Date(when).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", hour12: false, timeZone });
export const minute = (date) => date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", timeZone });

function link(href, text) {
  const a = element("a", "", text);
  a.href = href;
  return a;
}

// header completes the page's header, and returns who looks.
export async function header() {
  const nav = element("nav", "pages", ...pages.map(([path, name]) => {
    const a = link(path, name);
    if (location.pathname === path) a.setAttribute("aria-current", "page");
    return a;
  }));
  nav.setAttribute("aria-label", "Pages");
  document.querySelector("header").before(nav);
  const person = await visitor();
  if (person.anonymous && location.pathname !== "/") return enter();
  if (person.demo) {
    nav.prepend(link("/", "Home"));
    const here = encodeURIComponent(location.pathname + location.search);
    nav.append(element("span", "person", person.name ? `${person.name}, ${person.role} · ` : "",
      link(`/?to=${here}`, person.name ? "be someone else" : "Sign in")));
  }
  return person;
}
