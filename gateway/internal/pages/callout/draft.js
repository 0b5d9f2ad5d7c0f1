// Unsaved input of the dialog. It survives Escape, a reload and an expired session in this tab; only the same login gets it back. The
// read-back is not kept, because it belongs to one conversation.
const fields = ["person", "recipient", "method", "comment"];
const memory = new Map(); // drafts of an unknown login
let owner = ""; // "" for a login that is not known

// ofLogin sets the login that owns the drafts of the following calls, as identity of shell.js returns it.
export const ofLogin = (who) => { owner = who; };

const keyOf = (report) => `callout-draft:${owner}:${report}`;

// keep stores the fields of the form for a report, and the time of the call unless it is undefined.
export function keep(report, form, toldAt) {
  const text = JSON.stringify({ ...Object.fromEntries(fields.map((name) => [name, form.elements[name].value])), toldAt });
  if (!owner) memory.set(report, text);
  else {
    try {
      sessionStorage.setItem(keyOf(report), text);
    } catch {
      memory.set(report, text); // storage is disabled or full
    }
  }
}

// restore fills the form with the stored draft and returns it, or null if there is none.
export function restore(report, form) {
  const draft = JSON.parse(memory.get(report) || stored(report) || null);
  if (draft) for (const name of fields) form.elements[name].value = draft[name];
  return draft;
}

export function forget(report) {
  memory.delete(report);
  try {
    sessionStorage.removeItem(keyOf(report));
  } catch { /* storage is disabled: nothing was stored */ }
}

function stored(report) {
  try {
    return owner && sessionStorage.getItem(keyOf(report));
  } catch {
    return null;
  }
}
