// Page of the user's notifications: the list, updated by an event stream, and the preferences for each notification type.
import { request, element, link, moment } from "../assets/lab.js";
import { currentLogin, header, live, mayUse } from "../assets/shell.js";

const base = "/api-v3/notifications/";
const maxItems = 200; // maximum number of notifications on the page
const $ = (id) => document.getElementById(id);
let items = []; // the newest first
let listed = []; // those on the page
let unread = 0; // number of all unread notifications
let person = {};
let login = {};
const critical = "2"; // notification type of critical results

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "dim";
}

function tell(text, kind) {
  $("told").textContent = text;
  $("told").className = `message ${kind}`;
  $("told").hidden = text === "";
}

function line(item) {
  const unread = !item.read_on;
  const time = element("time", "", moment(item.created_at * 1000));
  const button = element("button", "", unread ? "Mark read" : "Mark unread");
  button.type = "button";
  button.addEventListener("click", () => mark(item, unread ? "read" : "unread"));
  const li = element("li", unread ? "unread" : "", element("strong", "", item.message.title), time, element("p", "", item.message.body, ...target(item.message.data)), button);
  li.dataset.notification = item.id;
  return li;
}

// target returns a link to the subject of a notification, if the login may open it.
function target({ bill_id: bill, notification_type_id: type } = {}) {
  if (!bill) return [];
  const [path, text] = String(type) === critical ? ["/callout/", "Critical results of this bill"] : ["/bill/", "Open the bill"];
  return mayUse(login, path) ? [" ", link(`${path}?bill=${encodeURIComponent(bill)}`, text)] : [];
}

function show() {
  listed = items.filter((item) => !$("only").checked || !item.read_on).slice(0, maxItems);
  const allRead = items.length < maxItems ? "Everything is read." : `The newest ${items.length} are read.`;
  const empty = element("li", "empty", $("only").checked && items.length ? allRead : "Nothing has come yet. What comes appears here by itself.");
  $("list").replaceChildren(...(listed.length ? listed.map(line) : [empty]));
  showOlder();
}

// showOlder states how many unread notifications are not listed, because they are older than the loaded ones.
function showOlder() {
  const older = items.length < maxItems ? 0 : unread - listed.filter((item) => !item.read_on).length;
  $("older").hidden = older <= 0;
  $("older").textContent = `${older} unread and older: only the newest ${maxItems} notifications are listed.`;
}

function count(number) {
  unread = number;
  showOlder();
  $("unread").textContent = unread ? String(unread) : "";
  document.title = unread ? `(${unread}) Notifications` : "Notifications";
}

let asked = 0; // number of the last request for the list
let came = 0; // number of events
let connected = false;

// load requests and shows the list; a later call replaces an earlier one. With an open stream the list is then up to date.
async function load() {
  const mine = ++asked, before = came;
  const response = await request(`${base}all?limit=${maxItems}`);
  if (mine !== asked) return;
  if (came !== before) return load(); // the response may be older than events received meanwhile
  items = response.data;
  count(response.unread_count);
  show();
  if (connected) say("Up to date. New notifications appear automatically.");
}

async function mark(item, action) {
  try {
    const response = await request(`${base}notification/${item.id}/${action}`, {});
    item.read_on = response.notification_data.read_on;
    show();
    document.querySelector(`[data-notification="${item.id}"] button`)?.focus();
  } catch (problem) {
    tell(problem.message, "bad");
  }
}

// markAll marks all notifications read up to the newest one that the page has: what arrived meanwhile stays unread.
async function markAll() {
  if (items.length) await request(`${base}notification/read-all?up_to=${Math.max(...items.map((item) => item.id))}`, {});
  await load();
}

function arrived(item) {
  items = [item, ...items.filter((one) => one.id !== item.id)].sort((a, b) => b.id - a.id);
  show();
  if (document.hidden && globalThis.Notification?.permission === "granted") {
    navigator.serviceWorker.ready.then((worker) => worker.showNotification(item.message.title,
      { body: item.message.body, tag: `notification-${item.id}`, data: item.message.data }));
  }
}

// changed replaces a notification whose text changed, if the page has it.
function changed(item) {
  items = items.map((one) => (one.id === item.id ? item : one));
  show();
}

const received = { notification: arrived, changed, unread: (inbox) => count(inbox.unread_count) }; // handlers by event

// opened loads the list at each connection: the stream does not repeat every missed event, for example reads on other devices.
function opened() {
  connected = true;
  load().catch((problem) => say(problem.message, true));
}

function lost(problem) {
  connected = false;
  if (problem.status === 401 || problem.status === 403) {
    items = [];
    asked++; // ignores pending responses
    $("list").replaceChildren();
    say(problem.message, true);
  } else say("Connection lost. New notifications are not shown until the connection is restored.", true);
}

// allow requests the browser's permission for notifications and registers the service worker that shows them while this page
// is in the background.
async function allow() {
  const granted = await Notification.requestPermission();
  if (granted !== "granted") {
    tell("This browser does not show notifications of this page. Allow them in its settings for this site.", "warn");
    return;
  }
  await navigator.serviceWorker.register(`${base}service-worker/firebase-messaging-sw.js`, { scope: "/" });
  tell("This device shows new notifications while this page is open in the background.", "good");
}

// title returns the display name of a type; its own name is for programs.
const title = (one) => one.description || one.name.replaceAll("_", " ");

// type returns the switch of a type. store sends what the user chose: true for off.
function type(one, store) {
  const box = element("input");
  box.type = "checkbox";
  box.checked = !one.is_disabled;
  box.disabled = one.is_mandatory;
  box.addEventListener("change", () => change(one, box, store));
  return element("li", "", element("label", "", box, title(one), element("span", "", one.is_mandatory ? "always on" : "")));
}

// change stores a switch. Meanwhile it cannot be switched again, because the server may execute two requests in any order.
async function change(one, box, store) {
  box.disabled = true;
  try {
    await store({ id: one.id, is_disabled: !box.checked });
    tell(`${title(one)}: ${box.checked ? "on" : "off"}.`, "good");
  } catch (problem) {
    box.checked = !box.checked;
    tell(problem.message, "bad");
  }
  box.disabled = false;
  if (document.activeElement === document.body) box.focus();
}

async function preferences() {
  if (!person.id) return;
  const response = await request(`${base}notification-type/user-preferences/${person.id}`);
  const store = ({ id, is_disabled: off }) => request(`${base}notification-type/user-preferences`, undefined, { method: "POST",
    body: new URLSearchParams({ labUserId: person.id, userNotificationPreferences: JSON.stringify([{ id, is_disabled: off ? 1 : 0 }]) }) });
  $("types").replaceChildren(...response.user_preferences.map((one) => type(one, store)));
  $("switches").hidden = response.user_preferences.length === 0;
}

// laboratory shows the switches of the whole laboratory to a login that may change them. A type that is off there is not offered
// to its users.
async function laboratory() {
  const { notification_types: kinds, may_change: may } = await request(`${base}notification-type/all`);
  const store = (one) => request(`${base}notification-type/bulk`, { notification_types: [one] }).then(preferences);
  $("kinds").replaceChildren(...kinds.map((one) => type(one, store)));
  $("laboratory").hidden = !may;
}

$("only").addEventListener("change", show);
$("allow").addEventListener("click", () => allow().catch((problem) => tell(problem.message, "bad")));
$("all").addEventListener("click", () => markAll().catch((problem) => tell(problem.message, "bad")));
person = await header();
login = await currentLogin();
live(`${base}live`, { open: opened, lost, event: (name, data) => { came++; received[name]?.(data); } });
try {
  await Promise.all([load(), preferences(), laboratory()]);
} catch (problem) {
  say(problem.message, true);
}
