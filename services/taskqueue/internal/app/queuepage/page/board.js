// The board: tiles, lanes with their last two minutes, health, and scheduled jobs.
import { age, byId, element, get, post, row } from "./api.js";
import { held } from "./pauses.js";

const KEPT = 60; // number of samples, one every two seconds
const HISTORY = "queue-admin-history";
const history = recall(); // ready jobs by lane
const answers = []; // recent responses; rates are computed over about ten seconds
let before;

// recall restores the chart data of this tab after a reload, unless it is too old.
function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(HISTORY));
    return new Map(Date.now() - kept.at < KEPT * 2000 ? kept.lanes : []);
  } catch {
    return new Map();
  }
}

function remember() {
  try {
    sessionStorage.setItem(HISTORY, JSON.stringify({ at: Date.now(), lanes: [...history] }));
  } catch { /* the lines start over after the next load */ }
}

function spark(key) {
  const values = history.get(key) || [];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 " + (KEPT - 1) + " 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const most = Math.max(1, ...values);
  const point = (v, i) => (KEPT - values.length + i) + "," + (19 - (18 * v) / most).toFixed(1);
  line.setAttribute("points", values.map(point).join(" "));
  svg.append(line);
  return svg;
}

// rate returns the growth of a counter per second, or undefined before the second response or if the counter fell
// because Redis was replaced.
function rate(now, read) {
  if (!before) return undefined;
  const grown = read(now) - read(before), seconds = (now.now_ms - before.now_ms) / 1000;
  return grown < 0 || seconds <= 0 ? undefined : grown / seconds;
}

const shown = (n) => (n === undefined ? "–" : n.toLocaleString(undefined, { maximumFractionDigits: n < 10 ? 1 : 0 }));

function pauseButton(channel, paused, ready, again) {
  const button = element("button", paused ? "Resume" : "Pause");
  button.setAttribute("aria-label", (paused ? "Resume " : "Pause ") + channel);
  button.type = "button";
  button.dataset.pause = channel;
  button.addEventListener("click", () => again(async () => {
    const question = paused ? "Resume " + channel + "? " + ready.toLocaleString() + " jobs are due and start at once."
      : "Pause " + channel + "? Jobs wait until it is resumed; what runs ends.";
    if (!confirm(question)) return;
    await post("pause", { channel, paused: !paused });
  }));
  return button;
}

function lanes(o, again) {
  const body = byId("lanes").tBodies[0], all = byId("all-lanes").checked;
  const buttons = new Set(), rows = [];
  for (const lane of o.lanes) {
    const paused = o.paused[lane.channel] !== undefined;
    if (!all && !paused && !lane.waiting && !lane.running && !lane.started) continue;
    const first = !buttons.has(lane.channel);
    buttons.add(lane.channel);
    const ready = o.lanes.reduce((n, l) => (l.channel === lane.channel ? n + l.ready : n), 0);
    const begun = shown(rate(o, (x) => x.lanes.find((l) => l.key === lane.key).started));
    const tr = row(lane.channel, lane.priority, lane.ready, age(lane.oldest_ms), lane.scheduled,
      first ? lane.running : "", begun, spark(lane.key), first ? pauseButton(lane.channel, paused, ready, again) : "");
    tr.dataset.lane = lane.key;
    if (paused) {
      tr.className = "paused";
      tr.cells[0].append(" – paused for " + age(o.now_ms - o.paused[lane.channel]));
    }
    if (lane.oldest_ms > 30000) tr.cells[3].className = "bad";
    for (const i of [2, 3, 4, 5, 6]) tr.cells[i].classList.add("number");
    rows.push(tr);
  }
  const focused = document.activeElement?.dataset?.pause;
  body.replaceChildren(...rows);
  if (focused) body.querySelector(`[data-pause="${focused}"]`)?.focus();
  byId("lanes").hidden = rows.length === 0;
  byId("no-lanes").hidden = rows.length !== 0;
}

function tiles(o, troubles) {
  const sum = (name) => o.lanes.reduce((n, lane) => n + lane[name], 0);
  const running = o.lanes.filter((lane) => lane.priority === "low").reduce((n, lane) => n + lane.running, 0);
  const total = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
  const oldest = Math.max(...o.lanes.map((lane) => lane.oldest_ms));
  const failing = rate(o, (x) => total(x.faults));
  const pausedChannels = Object.keys(o.paused).length;
  const list = [
    ["Ready", sum("ready").toLocaleString()],
    ["Oldest", age(oldest), oldest > 30000],
    ["Running", running.toLocaleString()],
    ["Attempts/s", shown(rate(o, (x) => total(x.attempts)))],
    ["Failing/s", shown(failing), failing > 0],
    ["Dead letters", o.dead.toLocaleString(), o.dead > 0],
    ["Scheduled", sum("scheduled").toLocaleString()],
    ["For the archive", o.unsaved.toLocaleString(), o.unsaved > 100000],
    ["Paused channels", String(pausedChannels), pausedChannels > 0],
    ["Troubles", String(troubles), troubles > 0],
  ];
  byId("tiles").replaceChildren(...list.map(([name, value, bad]) => {
    const li = element("li", undefined, bad ? "bad" : "");
    li.append(element("strong", value), element("span", name));
    li.dataset.tile = name;
    return li;
  }));
}

function health(o) {
  const lines = [];
  let troubles = 0;
  const note = (bad, what, state) => {
    if (bad) troubles++;
    const tr = row(what, state);
    tr.cells[1].className = bad ? "bad" : "good";
    lines.push({ bad, tr });
  };
  for (const one of o.left) {
    const what = one.provider ? one.channel + " through " + one.provider : one.receiver + " for laboratory " + one.lab_id;
    const wait = one.until_ms > o.now_ms ? "tried again in " + age(one.until_ms - o.now_ms) : "to be tried";
    note(true, what, "fails for " + age(o.now_ms - one.since_ms) + ", " + wait);
  }
  for (const one of o.providers || []) {
    if (one.out) note(true, one.channel + " through " + one.provider, "is out: " + one.out);
  }
  if (!lines.length) note(false, "providers and receivers", "No failing providers");
  byId("health").tBodies[0].replaceChildren(...lines.sort((a, b) => b.bad - a.bad).map((line) => line.tr));
  return troubles;
}

// refresh loads the overview and shows it. The function again runs an action and shows its errors.
export async function refresh(again) {
  const o = await get("overview");
  for (const lane of o.lanes) {
    const values = history.get(lane.key) || [];
    values.push(lane.ready);
    history.set(lane.key, values.slice(-KEPT));
  }
  remember();
  tiles(o, health(o));
  lanes(o, again);
  held(o, again);
  answers.push(o);
  before = answers.length > 5 ? answers.shift() : answers[0];
  return o;
}

export async function ahead() {
  const a = await get("ahead"), most = Math.max(1, ...a.hours), sum = a.hours.reduce((x, y) => x + y, 0);
  const words = { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const hour = (i) => new Date(a.first_ms + i * 3600000).toLocaleString([], words);
  byId("ahead").replaceChildren(...a.hours.map((n, i) => {
    const bar = element("span");
    bar.style.height = (n ? Math.max(4, (100 * n) / most) : 0) + "%";
    bar.title = hour(i) + ": " + n.toLocaleString();
    return bar;
  }));
  const busiest = sum ? ", most at " + hour(a.hours.indexOf(most)) + " (" + most.toLocaleString() + ")" : "";
  byId("ahead-text").textContent = sum.toLocaleString() + " in the next 48 hours" + busiest + "; " +
    a.later.toLocaleString() + " later" + (a.partial ? "; there are more than could be counted" : "");
}
