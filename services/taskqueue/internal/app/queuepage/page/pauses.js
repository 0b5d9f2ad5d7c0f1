// Pauses of laboratories and receivers. Pauses of channels are on the board.
import { age, byId, element, post, row } from "./api.js";

function resume(what, target, again) {
  const button = element("button", "Resume");
  button.type = "button";
  button.setAttribute("aria-label", "Resume " + what);
  button.dataset.resume = what;
  button.addEventListener("click", () => again(async () => {
    if (!confirm("Resume " + what + "? Its jobs that are due start at once.")) return;
    await post("pause", { ...target, paused: false });
  }));
  return button;
}

// held shows the pauses of laboratories and receivers in one response.
export function held(o, again) {
  const focused = document.activeElement?.dataset?.resume;
  const rows = o.held.map((one) => {
    const what = one.lab_id ? "laboratory " + one.lab_id : one.receiver;
    const target = one.lab_id ? { lab_id: one.lab_id } : { receiver: one.receiver };
    const tr = row(what, "paused for " + age(o.now_ms - one.since_ms), resume(what, target, again));
    tr.className = "paused";
    return tr;
  });
  byId("held").tBodies[0].replaceChildren(...rows);
  byId("held").hidden = rows.length === 0;
  if (focused) byId("held").querySelector(`[data-resume="${CSS.escape(focused)}"]`)?.focus();
}

export function start(again) {
  byId("hold").addEventListener("submit", (event) => {
    event.preventDefault();
    const lab = Number(byId("hold-lab").value || 0), receiver = byId("hold-receiver").value.trim();
    const what = [lab ? "laboratory " + lab : "", receiver].filter(Boolean).join(" and ");
    if (what && !confirm("Pause " + what + "? Jobs wait until it is resumed; what runs ends.")) return;
    again(async () => {
      await post("pause", { lab_id: lab, receiver, paused: true });
      byId("hold").reset();
    });
  });
}
