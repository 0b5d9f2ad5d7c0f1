// The frame of every page: the navigation that the login may use, the command box, the laboratory and the user.
import { currentVisitor, element, inZone, link, request, toLogIn, toUserChoice } from "./lab.js";
import { commandBox } from "./find.js";
import { follow } from "./stream.js";

// Enter acts once per press, and only on the element that had the focus when it was pressed. Otherwise a key that is held down for half a
// second opens a dialog and confirms it.
let pressedAt = null;
document.addEventListener("keydown", (event) => { pressedAt = event.repeat ? null : event.target; }, true);
document.addEventListener("keypress", (event) => { if (event.key === "Enter" && event.target !== pressedAt) event.preventDefault(); }, true);

// The second click of a double click acts only on the element that got the first click. Otherwise it confirms the dialog that the first click
// opened.
let clickedOn = null;
document.addEventListener("click", (event) => {
  const on = event.target.closest("a, button, label, tr") ?? event.target;
  if (event.detail < 2) clickedOn = on;
  else if (on !== clickedOn) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}, true);

const isStaff = (login) => ["lab_user", "support"].includes(login.session_type);
const isClinical = (login) => isStaff(login) || login.session_type === "doctor";
// Address and name of each page, and which logins may use it, namely the callers of its requests.
const pages = [
  ["/search/", "Patients", (login) => !login.referring],
  ["/callout/", "Callouts", isClinical],
  ["/notifications/", "Notifications", () => true],
  ["/cell-counter/", "Cell counter", isClinical],
  ["/external-edit/", "Documents", isClinical],
  ["/bill/", "Bills", isStaff],
];

// currentLogin fetches the login of the session once per page: {name, session_type, lab_user_id, actor_id, referring,
// permissions, laboratory}. The result is {} on a platform without search and if the request fails.
let loginRequest;
export const currentLogin = () => loginRequest ??= currentVisitor().then((visitor) => loginOf(visitor).catch(() => ({})));

const loginOf = async (visitor, signal) => (visitor.has_search ? request("/api/v1/login", undefined, { signal }) : {});

// presentLogin requests the current login, which may change while a page is open: {key, name}. Different logins have different keys; the
// key is "" where neither a search nor a demonstration describes logins. The result is null if the request fails.
export async function presentLogin() {
  try {
    const visitor = await request("/sign-in/person");
    const login = await loginOf(visitor);
    const name = visitor.name || login.name || "";
    return { name, key: login.session_type ? `${login.session_type} ${login.actor_id || name}` : visitor.demo ? `demo ${name}` : "" };
  } catch {
    return null;
  }
}

// identity returns a text that identifies a login, "" for an unknown login.
export function identity(visitor, login) {
  const who = [login.laboratory?.lab_id, login.session_type, login.actor_id, login.name, visitor.id, visitor.name];
  return who.some(Boolean) ? JSON.stringify(who) : "";
}

// sameLogin reports whether the page still belongs to the current login: true, false, or null if the login cannot be requested. An ended
// login is another one. A page that was loaded with an unknown login belongs to every unknown login.
export async function sameLogin(signal) {
  const loaded = identity(await currentVisitor(), await currentLogin());
  let unknown = false;
  const failed = (problem) => { unknown ||= problem.status !== 401; return {}; };
  const visitor = await request("/sign-in/person", undefined, { signal }).catch(failed);
  const login = await loginOf(visitor, signal).catch(failed);
  return identity(visitor, login) === loaded || (unknown ? null : false);
}

const mostUnknown = 6; // failed checks of the login, about 20 s, after which the page is reloaded

// live follows an event stream of the page's login, like follow of stream.js. When the login has ended or may not see the stream,
// problem.status is 401, 403 or 404, and the page must remove its data. The page is reloaded when a stream opens after that, or for another
// login, because names, permissions and drafts on the screen belong to the previous login.
export function live(path, { open, event, lost }) {
  let ended = false, unknown = 0;
  return follow(path, {
    open, event,
    check: async (signal) => {
      const same = !ended && await sameLogin(signal);
      signal.throwIfAborted();
      unknown = same === null ? unknown + 1 : 0;
      if (unknown > 0 && unknown < mostUnknown) throw new Error("The login is not known."); // the stream is opened again
      if (!same) await reloaded();
    },
    lost: (problem) => {
      ended ||= [401, 403, 404].includes(problem.status);
      toLogIn(problem);
      lost(problem);
    },
  });
}

// reloaded loads the page again. Its promise never settles, so that the caller does not continue.
export function reloaded() {
  location.reload();
  return new Promise(() => {});
}

// mayUse reports whether a login may use a page. An unknown login may use all: the server decides.
export const mayUse = (login, path) => !login.session_type || pages.some(([page, , may]) => page === path && may(login));

const mapsKeys = ({ permissions }) => ["cell_counter_configure", "cell_counter_edit"].some((one) => permissions.includes(one));
// Settings pages by the page that they belong to: address, name, and whether a login may change them.
const settings = {
  "/callout/": ["/callout-settings/", "Settings", () => request("/operation/critical-callout/settings").then((held) => held.may_change)],
  "/cell-counter/": ["/cell-counter-keys/", "Keys", (login) => !login.session_type || mapsKeys(login)],
};

// settingsLink adds a link to the page's settings to the header, for a login that may change them.
async function settingsLink(login) {
  const [address, name, may] = settings[location.pathname] ?? [];
  if (address && await may(login)) document.querySelector("header").append(link(address, name, "settings"));
}

// header adds the frame to the page, sets the time zone of the laboratory, and returns the visitor. In a demonstration it
// redirects a visitor who has not chosen a user to the home page.
export async function header() {
  const nav = element("nav", "pages");
  nav.setAttribute("aria-label", "Pages");
  document.querySelector("header").before(nav);
  const visitor = await currentVisitor();
  if (visitor.anonymous && location.pathname !== "/") return toUserChoice();
  const login = await currentLogin();
  if (login.laboratory) inZone(login.laboratory.timezone);
  if (visitor.demo) nav.append(link("/", "Home"));
  for (const [path, name] of pages.filter(([path]) => mayUse(login, path))) {
    const a = link(path, name);
    if (location.pathname === path) a.setAttribute("aria-current", "page");
    nav.append(a);
  }
  if (login.session_type) nav.append(commandBox((path) => mayUse(login, path)));
  nav.append(who(visitor, login));
  settingsLink(login).catch(() => {}); // no link if the request fails
  for (const event of ["focus", "visibilitychange"]) addEventListener(event, () => document.hidden || recheck());
  return { ...visitor, id: visitor.id || login.lab_user_id };
}

// recheck loads the page again if its login has changed, for example in another tab: data on the screen belongs to the previous login, and what
// the user does would be recorded for the present one.
const recheck = async () => { if (await sameLogin() === false) await reloaded(); };

// who returns an element with the names of the user and the laboratory.
function who(visitor, login) {
  const name = visitor.name ? `${visitor.name}, ${visitor.role}` : login.name;
  const laboratory = login.laboratory ? `${login.laboratory.name} (${login.laboratory.timezone})` : "";
  const text = element("span", "person", [name, laboratory].filter(Boolean).join(" · "));
  if (visitor.demo) {
    const here = encodeURIComponent(location.pathname + location.search);
    text.append(text.textContent && " · ", link(`/?to=${here}`, visitor.name ? "Switch user" : "Sign in"));
  } else if (visitor.sign_out_url) text.append(text.textContent && " · ", link(visitor.sign_out_url, "Sign out"));
  return text;
}
