// One action on many jobs: preview, then steps of 500 that can be stopped.
import { byId, element, fits, post } from "./api.js";

const done = {
  cancel: "cancelled", retry: "revived", delete: "deleted", sent: "finished as sent", not_sent: "failed as not sent",
};
const verbs = { sent: "End as sent", not_sent: "End as not sent" }; // labels of the other actions are their names
const plural = (n) => n.toLocaleString() + (n === 1 ? " job" : " jobs");
let order, matched = 0, stopped = false, running = false, changed = false; // changed: the form is not the one that was previewed

function offer() {
  const fitting = fits[byId("action").value].map((s) => new Option(s));
  byId("bulk-state").replaceChildren(new Option("every state it fits", ""), ...fitting);
  byId("bulk-preview").hidden = true;
}

async function preview() {
  const asked = {
    action: byId("action").value, lab_id: Number(byId("bulk-lab").value || 0), channel: byId("bulk-channel").value,
    states: byId("bulk-state").value, reason: byId("bulk-reason").value.trim(),
    older_than_minutes: Number(byId("older").value || 0),
  };
  let cursor = "", created = 0, looked = 0;
  matched = 0;
  stopped = changed = false;
  order = undefined;
  byId("apply").disabled = true;
  byId("bulk-first").replaceChildren();
  byId("bulk-answer").textContent = "";
  byId("bulk-progress").value = 0;
  byId("stop").hidden = false;
  try {
    do {
      const p = await post("preview", { ...asked, cursor, created_before_ms: created });
      matched += p.matched;
      looked += p.looked;
      cursor = p.next;
      created = p.created_before_ms;
      const room = 10 - byId("bulk-first").children.length;
      byId("bulk-first").append(...p.first.slice(0, room).map((id) => element("li", id)));
      byId("bulk-preview").hidden = false;
      const going = stopped ? "; stopped before the end" : "; counting…", all = matched > 10 ? "; the first ten:" : "";
      byId("bulk-count").textContent = plural(matched) + " of " + looked.toLocaleString() + " checked" +
        (cursor ? going : all);
    } while (cursor && !stopped && !changed);
  } finally {
    byId("stop").hidden = true;
  }
  if (changed) {
    byId("bulk-count").textContent = "The form was changed meanwhile. Preview again.";
    return;
  }
  delete asked.older_than_minutes;
  order = { ...asked, created_before_ms: created };
  byId("apply").disabled = matched === 0;
  const verb = verbs[asked.action] || asked.action[0].toUpperCase() + asked.action.slice(1);
  byId("apply").textContent = verb + " " + plural(matched);
}

async function apply() {
  const what = order, sum = { done: 0, requested: 0, left: 0 };
  if (!what || !confirm(byId("apply").textContent + "?")) return;
  order = undefined;
  stopped = false;
  byId("apply").disabled = true;
  byId("stop").hidden = false;
  let cursor = "";
  try {
    do {
      const step = await post("apply", { ...what, cursor });
      for (const name of Object.keys(sum)) sum[name] += step[name];
      cursor = step.next;
      const share = (sum.done + sum.requested + sum.left) / Math.max(1, matched), going = stopped ? "Stopped: " : "";
      byId("bulk-progress").value = cursor ? Math.min(1, share) : 1;
      const changed = sum.done.toLocaleString() + " " + done[what.action];
      byId("bulk-answer").textContent = (cursor ? going : "Done: ") + changed +
        (sum.requested ? ", " + sum.requested + " running ones asked to end" : "") +
        (sum.left ? ", " + sum.left + " changed meanwhile and skipped" : "");
    } while (cursor && !stopped);
  } finally {
    byId("stop").hidden = true;
  }
}

export function start(again) {
  const once = (f) => again(async () => {
    if (running) return;
    running = true;
    try { await f(); } finally { running = false; }
  });
  offer();
  byId("action").addEventListener("change", offer);
  byId("bulk").addEventListener("input", () => { order = undefined; changed = true; byId("apply").disabled = true; });
  byId("bulk").addEventListener("submit", (event) => { event.preventDefault(); once(preview); });
  byId("apply").addEventListener("click", () => once(apply));
  byId("stop").addEventListener("click", () => { stopped = true; });
}
