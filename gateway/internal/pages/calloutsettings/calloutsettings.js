// Page of a laboratory's settings for critical callouts.
import { clock, element, request } from "../assets/lab.js";
import { header } from "../assets/shell.js";
import { ask } from "../assets/ask.js";

const path = "/operation/critical-callout/settings";
// Name, label, description and bounds of each setting.
const fields = [
  ["escalate_minutes", "Minutes until a result is escalated", "A critical result that no one has called for so long is announced to the laboratory again. The same time lies between escalations. 1 to 1440.", 1, 1440],
  ["escalate_most", "Escalations of one result", "After so many, reminders follow. 1 to 20.", 1, 20],
  ["remind_hours", "Hours between reminders", "After the last escalation the laboratory is reminded until someone calls. 0 to 168; 0: no reminders.", 0, 168],
  ["repeat_within_hours", "Hours in which a call is not repeated", "After a call with read-back, calls about the same patient are unnecessary while the values are not worse. 0 to 168; 0: every critical result is called.", 0, 168],
  ["read_back_needed", "Read-back is needed", "A call without read-back stays an attempt, and the result keeps waiting."],
];
const $ = (id) => document.getElementById(id);
let loaded = {}; // the settings as last received

function tell(text, kind) {
  $("told").textContent = text;
  $("told").className = `message ${kind}`;
  $("told").hidden = text === "";
}

function field([name, label, meaning, least]) {
  const input = Object.assign(element("input"), { id: name, autocomplete: "off" });
  if (least === undefined) input.type = "checkbox";
  else input.inputMode = "numeric";
  const help = element("p", "dim", meaning);
  const wrong = element("p", "bad");
  [help.id, wrong.id] = [`${name}-help`, `${name}-wrong`];
  input.setAttribute("aria-describedby", `${help.id} ${wrong.id}`);
  const text = least === undefined ? element("label", "check", input, label) : element("label", "", label, input);
  return element("div", "", text, help, wrong);
}

function mark(name, text) {
  $(`${name}-wrong`).textContent = text;
  $(name).setAttribute("aria-invalid", String(text !== ""));
}

// show fills in settings. Their fields are disabled for a user without the permission to change them.
function show(settings) {
  loaded = settings;
  for (const [name, , , least] of fields) {
    $(name)[least === undefined ? "checked" : "value"] = settings[name];
    $(name).disabled = !settings.may_change;
    mark(name, "");
  }
  $("buttons").hidden = !settings.may_change;
  $("settings").hidden = false;
  $("state").textContent = `As of ${clock(new Date())}.`;
  $("state").className = "dim";
}

// read returns the settings of the form, or null if a number is missing or out of bounds.
function read() {
  const settings = {};
  for (const [name, , , least, most] of fields) {
    const text = $(name).value.trim();
    settings[name] = least === undefined ? $(name).checked : Number(text);
    const right = least === undefined || /^\d+$/.test(text) && settings[name] >= least && settings[name] <= most;
    mark(name, right ? "" : `Write a whole number from ${least} to ${most}.`);
  }
  const wrong = fields.find(([name]) => $(name).getAttribute("aria-invalid") === "true");
  if (!wrong) return settings;
  $(wrong[0]).focus();
  return null;
}

const differs = (a, b) => fields.some(([name]) => a[name] !== b[name]);

// put replaces the settings, unless someone else changed them since they were shown.
async function put(settings, done) {
  try {
    const now = await request(path);
    if (differs(now, loaded)) {
      show(now);
      tell("Someone changed the settings meanwhile, so yours were not saved. These are the new ones: change them and save again.", "warn");
      return;
    }
    show(await request(path, settings, { method: "PUT" }));
    tell(done, "good");
  } catch (problem) {
    const name = fields.find(([one]) => problem.message.startsWith(one))?.[0];
    if (name) mark(name, problem.message);
    tell(name ? "One setting is not valid; nothing was saved." : problem.message, "bad");
  }
}

async function reset() {
  if (await ask("Take the laboratory's settings back to the defaults of the installation?", "Take them back")) await put({}, "The defaults are in force.");
}

const buttons = element("div", "bar", element("button", "primary", "Save"), Object.assign(element("button", "", "Back to the defaults"), { type: "button", id: "reset" }));
buttons.id = "buttons";
$("settings").append(...fields.map(field), buttons);
$("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  const settings = read();
  if (settings) put(settings, "Saved.");
});
$("reset").addEventListener("click", reset);
await header();
try {
  const settings = await request(path);
  show(settings);
  if (!settings.may_change) tell("You can read the settings. Administrators of the laboratory, and users with their permission, change them; ask one of them.", "");
} catch (problem) {
  $("state").textContent = problem.message;
  $("state").className = "bad";
}
