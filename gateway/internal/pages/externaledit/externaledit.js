// Who holds a report as a document, and every version of it, live.
import { ask, element, header, moment } from "../assets/lab.js";

const base = "/api-v3/report/external-edit/";
// What a report without a document is begun from.
const first = { template_id: 1, word_s3_filepath: "templates/report.docx" };

const $ = (id) => document.getElementById(id);
let report = 0;
let session = null; // who holds it; null when no one does
let versions = [];
let more = false; // there are older versions than those
let stream = null;

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

const size = (bytes) => (bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`);

// sure asks before what others would notice.
function sure(question, yes) {
  $("question").textContent = question;
  $("yes").textContent = yes;
  $("ask").showModal();
  return new Promise((answer) => {
    const done = (given) => { $("ask").close(); answer(given); };
    $("yes").onclick = () => done(true);
    $("no").onclick = () => done(false);
    $("ask").oncancel = () => done(false);
  });
}

function file(url, bytes) {
  const a = element("a", "", size(bytes));
  a.href = url;
  return element("td", "number", url ? a : "–");
}

function row(one) {
  const by = one.uploaded_by_name + (one.restored_from ? `, from version ${versions.find((v) => v.id === one.restored_from)?.revision ?? "before"}` : "");
  const last = element("td", "", one.is_current ? "yes" : "");
  if (!one.is_current) {
    const button = element("button", "", "Restore");
    button.type = "button";
    button.addEventListener("click", () => restore(one));
    last.replaceChildren(button);
  }
  const tr = element("tr", one.is_current ? "current" : "", element("td", "number", String(one.revision)), element("td", "", moment(one.uploaded_at)),
    element("td", "", by), file(one.word_url, one.word_size), file(one.pdf_url, one.pdf_size), last);
  tr.dataset.revision = one.revision;
  return tr;
}

function show() {
  $("holder").hidden = $("versions").hidden = false;
  $("held").textContent = session ? `${session.author_name} has report ${report} open, last sign of life ${moment(session.updated_at)}.`
    : `No one edits report ${report}.`;
  $("open").hidden = session !== null;
  $("take").hidden = $("end").hidden = session === null;
  $("rows").replaceChildren(...versions.map(row));
  $("none").hidden = versions.length > 0;
  $("older").hidden = !more;
}

async function holder() {
  try {
    return await ask(`${base}${report}`);
  } catch (problem) {
    if (problem.status === 404) return null;
    throw problem;
  }
}

const page = 50;
const list = async (before = "") => (await ask(`${base}${report}/revisions?limit=${page}${before && `&before=${before}`}`)).revisions;

// load keeps the older versions that someone has asked for.
async function load() {
  const of = report;
  const [held, newest] = await Promise.all([holder(), list()]);
  if (of !== report) return;
  session = held?.is_active ? held : null;
  const last = newest.length === page ? newest.at(-1).id : 0;
  const asked = versions.some((v) => v.id === last) ? versions.filter((v) => v.id < last) : [];
  more = asked.length > 0 ? more : newest.length === page;
  versions = newest.concat(asked);
  show();
}

async function older() {
  const next = await list(versions.at(-1).id);
  versions.push(...next);
  more = next.length === page;
  show();
}

const reload = () => load().catch((problem) => say(problem.message, true));

function follow() {
  stream?.close();
  stream = new EventSource(`${base}${report}/events`);
  stream.onopen = () => { say("Up to date; changes appear by themselves."); reload(); };
  stream.onerror = () => say("Cut off: changes are not seen here until the connection is back.", true);
  for (const event of ["session_created", "files_uploaded", "session_ended", "authorship_changed"]) stream.addEventListener(event, reload);
}

async function begin(takeOver) {
  const current = versions.find((v) => v.is_current);
  const word = current?.word_file_path || first.word_s3_filepath;
  const made = await ask(`${base}${report}`, { ...first, word_s3_filepath: word, take_over: takeOver });
  const link = element("a", "", "Download the document");
  link.href = made.template_path;
  $("opened").replaceChildren(link, ". The desktop application saves what you change; each save appears below.");
  $("opened").hidden = false;
  await load();
}

async function restore(one) {
  if (!await sure(`Put version ${one.revision} of ${one.uploaded_by_name} on the report? The present one stays in the list.`, "Restore")) return;
  await ask(`${base}${report}/revisions/${one.id}/restore`, {}).then(load).catch((problem) => say(problem.message, true));
}

async function takeOver() {
  if (await sure(`Take report ${report} from ${session.author_name}? What is not saved there is lost for the report.`, "Take over")) await begin(true);
}

async function end() {
  if (!await sure(`End the session of ${session.author_name}? What is not saved there is lost for the report.`, "End it")) return;
  await ask(`${base}sessions/${session.id}/end`, {});
  await load();
}

async function choose(number) {
  report = number;
  versions = [];
  $("report").value = number;
  $("opened").hidden = true;
  history.replaceState(null, "", `?report=${number}`);
  await load();
  follow();
}

function onClick(id, action) {
  $(id).addEventListener("click", () => action().catch((problem) => say(problem.message, true)));
}

onClick("open", () => begin(false));
onClick("take", takeOver);
onClick("end", end);
onClick("older", older);
$("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  choose($("report").valueAsNumber).catch((problem) => {
    $("holder").hidden = $("versions").hidden = true;
    say(problem.message, true);
  });
});
await header();
const wanted = Number(new URLSearchParams(location.search).get("report"));
if (wanted > 0) choose(wanted).catch((problem) => say(problem.message, true));
