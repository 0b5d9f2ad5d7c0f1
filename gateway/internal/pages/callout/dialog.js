// The dialog of a result: its values, who is calling, the history, and the form that records a call or an attempt. Data of the
// laboratory is always inserted as text, never as markup.
import { onlyOnce, request, element, link, minute, moment } from "../assets/lab.js";
import * as draft from "./draft.js";
import * as claim from "./claim.js";
import { patientOf, valueText } from "./result.js";

const $ = (id) => document.getElementById(id);
let chosen = null; // the result that the dialog shows
let saving = false;
let post; // sends the form; a retry in the same dialog is not recorded twice
let board; // the board's functions, see connect

// connect starts the dialog. board has now() in milliseconds of the server's clock, find(report), which returns a waiting result
// of the list, load(), which requests the list again, called(report) after a call that ended the wait, say(text, bad), focus(report)
// and may(path), which reports whether the login may use a page.
export function connect(ofBoard) {
  board = ofBoard;
}

export const isOpen = () => $("dialog").open;
export const close = () => $("dialog").close();

// showValues sets the result of the dialog and lists its critical values. The result either needs a callout, or was called and
// then corrected (wrong is true).
function showValues(item) {
  chosen = item;
  $("dialog-values").replaceChildren(...item.critical_parameters.map((p) =>
    element("li", "", element("strong", "", valueText(p)), ` — critical ${p.critical_range}, reference ${p.reference_range}`)));
  const bill = `bill ${item.lab_bill_id}`;
  $("dialog-patient").replaceChildren(`${patientOf(item)}, `, board.may("/bill/") ? link(`/bill/?bill=${item.bill_id}`, bill) : bill);
  showClaim();
}

// listChanged shows who is calling after the list has changed. The values stay, because the user may be reading them out.
export function listChanged() {
  const current = isOpen() && !chosen.wrong && board.find(chosen.lab_report_id);
  if (current) chosen.claim = current.claim;
  if (isOpen()) showClaim();
}

// showClaim shows who is calling. A corrected result does not wait, so no one claims it.
function showClaim() {
  const held = claim.current(chosen, board.now());
  $("claim").hidden = Boolean(chosen.wrong);
  $("claim-text").textContent = claim.describe(held);
  $("claim-button").textContent = claim.action(held);
}

async function changeClaim() {
  const item = chosen;
  $("problem").textContent = "";
  try {
    item.claim = await claim.change(item, board.now());
  } catch (problem) {
    $("problem").textContent = problem.message;
    await board.load();
    item.claim = board.find(item.lab_report_id)?.claim;
  }
  if (chosen === item) showClaim();
}

export async function open(item) {
  if (isOpen() || saving) return;
  showValues(item);
  post = onlyOnce();
  $("dialog-title").textContent = item.wrong ? `${item.test_name}: was called, now corrected` : item.test_name;
  $("attempt").hidden = Boolean(item.wrong); // a corrected result needs no callout, so there is no attempt to save
  $("problem").textContent = "";
  $("form").reset();
  $("person").value = item.notified_persons?.[0] ?? item.referral_name;
  $("told-at").value = $("told-at").defaultValue = minute(new Date(board.now()));
  delete $("form").dataset.warned;
  const kept = draft.restore(item.lab_report_id, $("form"));
  if (kept) $("problem").textContent = "This is what you typed before. It is not saved yet.";
  if (board.now() - Date.parse(kept?.toldAt) < dayMinutes * 60000) $("told-at").value = minute(new Date(kept.toldAt));
  $("history").replaceChildren(element("li", "dim", "Loading…"));
  $("bill").hidden = true;
  $("dialog").showModal();
  $("person").focus();
  const [history, bill] = await Promise.all([historyOf(item), billOf(item)]);
  if (chosen.lab_report_id !== item.lab_report_id) return; // the user has opened another card meanwhile
  $("history").replaceChildren(...history);
  $("bill").hidden = bill.length === 0;
  $("bill-list").replaceChildren(...bill);
}

async function historyOf(item) {
  try {
    const { logs } = await request(`/report/bulk/critical-notification/logs?report_ids=${item.lab_report_id}`);
    if (logs.length === 0) return [element("li", "dim", "Nothing yet.")];
    return logs.map((l) => element("li", "", [moment(l.activityDate), l.labUserName, l.activityText, l.meta.recipients].filter(Boolean).join(" · ")));
  } catch (problem) {
    return [element("li", "dim", problem.message)];
  }
}

// billOf returns a line for the newest attempt of each report of the bill, and one for each result that needs no call
// because of the laboratory's repeat policy.
async function billOf(item) {
  try {
    const { reports = [], attempted_callout: attempted, suppressed } = await request(`/report/${item.bill_id}/critical/records`);
    const test = (id) => reports.find((r) => r.lab_report?.labReportId === id)?.lab_report.reportID?.testName ?? `report ${id}`;
    const lines = (attempted?.attempts ?? []).map((a) => ["Tried, not reached", test(a.lab_report_id), moment(a.created_on),
      a.critical_callout_meta?.notified_person, (a.recipients ?? []).join(", "), a.critical_callout_comment]);
    for (const s of suppressed ?? []) {
      lines.push(["Needs no call", s.critical_parameters.map(valueText).join(", "), s.reportID?.testName, s.reason,
        s.called_at && `called ${moment(s.called_at)}`]);
    }
    return lines.map((parts) => element("li", "", parts.filter(Boolean).join(" · ")));
  } catch (problem) {
    return [element("li", "dim", problem.message)];
  }
}

const dayMinutes = 24 * 60;
const ofDay = (text) => text.split(":").reduce((hours, minutes) => Number(hours) * 60 + Number(minutes));

// timeTyped returns the time of day that the user typed as HH:MM, undefined if it is none.
function timeTyped() {
  const [, hours, minutes] = /^([01]?\d|2[0-3])[:.]?([0-5]\d)$/.exec($("told-at").value.trim()) ?? [];
  return hours && `${hours.padStart(2, "0")}:${minutes}`;
}

// toldAt returns the time of the call as an ISO string if the user changed the field, otherwise undefined, which means now. The
// field has no date: the result is the latest past moment with that time of day. The minute that comes next means now, because
// the user's clock may be as far ahead as the server allows.
function toldAt() {
  const text = timeTyped();
  if (text === $("told-at").defaultValue) return undefined;
  const now = board.now();
  const ago = (ofDay(minute(new Date(now))) - ofDay(text) + dayMinutes) % dayMinutes;
  return new Date(ago === dayMinutes - 1 ? now : Math.floor(now / 60000 - ago) * 60000).toISOString();
}

const spoken = () => ["call", "in_person"].includes($("method").value);

// complaint returns [id of the field, message] for the first problem that prevents saving, or undefined. It warns about a missing
// read-back only once.
function complaint(isDraft) {
  if (!timeTyped()) return ["told-at", "Type the time of the call as hours and minutes, for example 16:32."];
  if (isDraft) return undefined;
  if (!$("person").value.trim()) return ["person", "Say who was told."];
  if (spoken() && !chosen.wrong && !$("readback").checked && !$("form").dataset.warned) {
    $("form").dataset.warned = "yes";
    return ["readback", "The values were not read back, so this is saved only as an attempt and the result stays open. Press again to save it as an attempt."];
  }
  return undefined;
}

async function save(isDraft) {
  const item = chosen;
  const problem = complaint(isDraft);
  if (problem) {
    $("problem").textContent = problem[1];
    $(problem[0]).focus();
    return;
  }
  const body = {
    is_draft: isDraft, lab_report_ids: [item.lab_report_id], recipients: [$("recipient").value],
    communication_methods: [$("method").value], critical_callout_comment: $("comment").value,
    read_back: $("readback").checked, notified_person: $("person").value.trim(), notified_at: toldAt(),
  };
  if (isDraft) body.outcome = "unable_to_reach";
  if (item.wrong) body.force = true;
  else body.told_values = item.critical_parameters.map((p) => (
    { lab_report_id: item.lab_report_id, report_format_id: p.report_format_id, raw_value: p.raw_value }));
  busy(true);
  let response;
  try {
    response = await post(`/report/${item.bill_id}/critical/callout`, body);
  } catch (failed) {
    await failedToSave(failed);
  }
  busy(false);
  if (!response) return;
  draft.forget(item.lab_report_id);
  const done = response.status === "CALLOUT_DONE";
  close();
  if (done && !item.wrong) board.called(item.lab_report_id);
  board.say(done ? "The callout is recorded." : "The attempt is saved. The result still needs a callout.");
}

const texts = (item) => item.critical_parameters.map(valueText).join();

// failedToSave shows the error. After a conflict (409) it reloads the list and shows the current values of the result, because
// the call was about the old ones. A result that a bill split moved is saved for its new bill when the user saves again.
async function failedToSave(failed) {
  const { details, data } = failed.response ?? {};
  const moved = details === "BILL_CHANGED";
  if (failed.status === 409 && (moved || !chosen.wrong)) {
    await board.load();
    const current = !chosen.wrong && board.find(chosen.lab_report_id);
    const told = texts(chosen);
    showValues({ ...(current || chosen), ...(moved && { bill_id: data.bill_id }) });
    if (texts(chosen) !== told) { // no one has read the new values back
      $("readback").checked = false;
      delete $("form").dataset.warned;
    }
  }
  if (!isOpen()) { // the user may have closed the dialog with Esc
    board.say(`The callout of ${chosen.test_name} is not saved: ${failed.message}`, true);
    return;
  }
  $("problem").replaceChildren(...(moved ? ["This result moved to another bill by a split, so nothing was saved. Save again to record it there. ",
    link(`/bill/?bill=${data.bill_id}`, "Open the new bill")] : [failed.message]));
}

// busy disables the buttons of the dialog while a request is running, so that the dialog stays open until the response arrives.
function busy(on) {
  saving = on;
  for (const id of ["complete", "attempt", "close"]) $(id).disabled = on;
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  save(false);
});
$("form").addEventListener("input", () => draft.keep(chosen.lab_report_id, $("form"), timeTyped() && toldAt()));
$("attempt").addEventListener("click", () => save(true));
$("claim-button").addEventListener("click", changeClaim);
$("close").addEventListener("click", close);
$("dialog").addEventListener("cancel", (event) => { if (saving) event.preventDefault(); });
// After the dialog closes, the keyboard focus returns to the card that opened it. The card may be a new element by then.
$("dialog").addEventListener("close", () => board.focus(chosen.lab_report_id));
