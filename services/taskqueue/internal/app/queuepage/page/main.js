// Starts the page, refreshes it every two seconds, and shows all errors in one place.
import { byId, token } from "./api.js";
import { ahead, refresh } from "./board.js";
import { search, start as startJobs } from "./jobs.js";
import { start as startBulk } from "./bulk.js";
import { start as startPauses } from "./pauses.js";

let begun = false, failing = "";

function problem(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}

function locked(message) {
  byId("login").hidden = false;
  byId("board").hidden = true;
  byId("leave").hidden = true;
  byId("status").textContent = "A token is needed";
  problem(token.get() ? message : "");
  token.forget();
}

// again runs an action of the operator, then refreshes the board.
async function again(action) {
  problem("");
  try {
    await action();
    await draw();
  } catch (error) {
    if (error.status === 401) return locked(error.message);
    problem(error.message);
  }
}

async function draw() {
  const o = await refresh(again);
  byId("login").hidden = true;
  byId("board").hidden = false;
  byId("leave").hidden = !token.get();
  byId("status").textContent = "As of " + new Date(o.now_ms).toLocaleTimeString(undefined, { hourCycle: "h23" });
  if (begun) return;
  begun = true;
  const channels = [...new Set(o.lanes.map((lane) => lane.channel))];
  for (const id of ["channel", "bulk-channel"]) byId(id).append(...channels.map((c) => new Option(c)));
  await Promise.all([ahead(), search()]);
}

let asking = false;
async function tick() {
  if (asking || document.hidden || !byId("login").hidden) return;
  asking = true;
  try {
    await draw();
    if (failing && byId("problem").textContent === failing) problem("");
    failing = "";
  } catch (error) {
    if (error.status === 401) locked(error.message);
    else { failing = error.message; problem(failing); byId("status").textContent = "No answer since a while"; }
  } finally {
    asking = false;
  }
}

// The second click of a double click presses no button: another one may have taken the place of the first, such as Cancel of Retry.
document.addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest("button")) event.stopImmediatePropagation();
}, true);

for (const id of ["operator", "ticket"]) {
  byId(id).value = sessionStorage.getItem("queue-admin-" + id) || "";
  byId(id).addEventListener("change", () => sessionStorage.setItem("queue-admin-" + id, byId(id).value));
}
byId("who").addEventListener("submit", (event) => event.preventDefault());
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set(byId("token").value);
  byId("token").value = "";
  again(async () => {});
});
byId("leave").addEventListener("click", () => { token.forget(); location.reload(); });
byId("all-lanes").addEventListener("change", () => again(async () => {}));
startJobs(again);
startBulk(again);
startPauses(again);
tick();
setInterval(tick, 2000);
setInterval(() => {
  if (begun && !document.hidden && byId("login").hidden) ahead().catch(() => {});
}, 60000);
