// Periodic jobs: when they run, and what became of the last tick.
import { byId, get, moment, row } from "./api.js";
import { link } from "./jobs.js";

function last(p) {
  if (!p.last_ms) return "no tick yet";
  const id = link(p.last_job, p.last_state || "not known any more");
  id.title = p.last_job;
  return id;
}

export async function periodic() {
  const { jobs } = await get("periodic");
  byId("periodic").tBodies[0].replaceChildren(...jobs.map((p) => {
    const tr = row(p.name, String(p.lab_id || "–"), p.cron, p.next_ms ? moment(p.next_ms) : "never", last(p));
    tr.cells[0].title = "of " + p.owner + "; missed ticks: " + p.missed;
    tr.cells[1].className = "number";
    if (["failed", "unknown"].includes(p.last_state)) tr.cells[4].className = "bad";
    return tr;
  }));
  byId("periodic").hidden = jobs.length === 0;
  byId("no-periodic").hidden = jobs.length !== 0;
}
