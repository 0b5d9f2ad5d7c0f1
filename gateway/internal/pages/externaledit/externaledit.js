// Page of one report that is edited as a Word document: the user who has it open, and all saved versions. The page reloads on
// every event of the report's event stream.
import { request, element, moment } from "../assets/lab.js";
import { header, live } from "../assets/shell.js";
import { ask } from "../assets/ask.js";
import { chooseOne, describe, endQuestion, patientBar } from "../assets/find.js";
import { withTotal, workList } from "../assets/worklist.js";

const base = "/api-v3/report/external-edit/";

const $ = (id) => document.getElementById(id);
let report = 0;
let session = null; // the active editing session, or null
let versions = [];
let more = false; // whether the server has older versions than the loaded ones
let unfollow = null; // ends the event stream of the report
let loads = 0; // number of the latest load; responses to earlier ones are ignored
let noticed = []; // warnings about the document that this page opened or restored
let templates = []; // templates for a report without versions

function say(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}

const size = (bytes) => (bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`);

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

// own reports whether the session belongs to the user: only its author gets the token.
const own = () => Boolean(session?.auth_token);

function show() {
  $("holder").hidden = $("versions").hidden = false;
  const warnings = new Set([...noticed, ...(session?.warnings ?? [])]);
  $("warnings").replaceChildren(...[...warnings].map((text) => element("p", "", `${text}.`)));
  $("warnings").hidden = warnings.size === 0;
  $("held").textContent = session ? `${session.author_name} has report ${report} open, last active ${moment(session.updated_at)}.`
    : `No one edits report ${report}.`;
  $("open").hidden = session !== null;
  $("end").hidden = session === null;
  $("take").hidden = session === null || own();
  $("begin").hidden = session !== null || versions.length > 0 || templates.length < 2;
  $("continue").hidden = !own();
  $("command").textContent = `agent --base ${location.origin} --report ${report}`;
  $("rows").replaceChildren(...versions.map(row));
  $("none").hidden = versions.length > 0;
  $("older").hidden = !more;
}

// activeSession returns the latest editing session of the report, or null if there is none.
async function activeSession() {
  try {
    return await request(`${base}${report}`);
  } catch (problem) {
    if (problem.status === 404) return null;
    throw problem;
  }
}

const page = 50;
const list = async (before = "") => (await request(`${base}${report}/revisions?limit=${page}${before && `&before=${before}`}`)).revisions;

// load fetches the session and the newest versions. Older versions that the user has already loaded stay in the list.
async function load() {
  const requested = report, own = ++loads;
  const [latest, newest] = await Promise.all([activeSession(), list()]);
  if (requested !== report || own !== loads) return; // the user chose another report, or something changed meanwhile
  session = latest?.is_active ? latest : null;
  const last = newest.length === page ? newest.at(-1).id : 0;
  const olderVersions = versions.some((v) => v.id === last) ? versions.filter((v) => v.id < last) : [];
  more = olderVersions.length > 0 ? more : newest.length === page;
  versions = newest.concat(olderVersions);
  show();
}

async function older() {
  const requested = report;
  const next = await list(versions.at(-1).id);
  if (requested !== report) return;
  versions.push(...next);
  more = next.length === page;
  show();
}

const reload = () => load().catch((problem) => say(problem.message, true));

function follow() {
  unfollow?.();
  unfollow = live(`${base}${report}/events`, {
    open: () => { say("Up to date. Changes appear automatically."); reload(); },
    event: reload,
    lost,
  });
}

function lost(problem) {
  if ([401, 403, 404].includes(problem.status)) {
    report = 0; // responses to earlier requests are ignored
    $("opened").hidden = $("warnings").hidden = $("holder").hidden = $("versions").hidden = true;
    patientBar(null);
    say(problem.message, true);
  } else say("Connection lost. Changes are not shown until the connection is restored.", true);
}

// offer lists the templates. A user who may not edit gets none.
async function offer() {
  templates = await request(`${base}templates`).then((list) => list.templates ?? [], () => []);
  $("template").replaceChildren(...templates.map((t) => new Option(t.name, t.id)));
}

// firstDocument returns the document of a new session: the report's newest version, or the chosen template.
function firstDocument() {
  const current = versions.find((v) => v.is_current)?.word_file_path;
  const template = templates.find((t) => String(t.id) === $("template").value);
  if (!current && !template) throw new Error("The laboratory has no template for a new document. Ask an administrator for one.");
  return { template_id: template?.id ?? 1, word_s3_filepath: current || template.word_s3_filepath };
}

async function begin(takeOver) {
  const requested = report;
  const made = await request(`${base}${report}`, { ...firstDocument(), take_over: takeOver });
  if (requested !== report) return;
  const link = element("a", "", "Download the document");
  link.href = made.template_path;
  $("opened").replaceChildren(link, " to read it. Edit it with the desktop application, which saves what you change; each save appears below.");
  noticed = made.warnings ?? [];
  $("opened").hidden = false;
  await load();
}

async function restore(one) {
  if (!await ask(`Put version ${one.revision} of ${one.uploaded_by_name} on the report? The current version stays in the list.`, "Restore")) return;
  await request(`${base}${report}/revisions/${one.id}/restore`, {}).then(({ warnings }) => {
    noticed = warnings ?? [];
    return load();
  }).catch((problem) => say(problem.message, true));
}

async function takeOver() {
  const { id, author_name: author } = session; // the session that the question concerns
  if (!await ask(`Take report ${report} from ${author}? Changes that ${author} has not saved are lost.`, "Take over")) return;
  if (session?.id !== id) throw new Error(`The session of ${author} has ended meanwhile, so nothing was taken over. See who edits the report now.`);
  await begin(true);
}

async function end() {
  const { id, author_name: author } = session; // the session that the question concerns
  const mine = own();
  if (!await ask(`End ${mine ? "your session" : `the session of ${author}`}? Unsaved changes are lost.`, "End session")) return;
  await (mine ? request(`${base}${id}`, undefined, { method: "PUT" }) : request(`${base}sessions/${id}/end`, {}));
  $("opened").hidden = true;
  await load();
}

async function choose(id, match = { lab_report_id: id }) {
  clear(id);
  history.replaceState(null, "", `?report=${id}`);
  try {
    await load();
  } catch (problem) {
    if (report === id) throw problem;
  }
  if (report !== id) return; // the user chose another report meanwhile
  follow();
  await patientBar(match);
}

// clear removes the data of the previous report, so that none of it is shown beside another patient.
function clear(id) {
  [report, session, versions, noticed] = [id, null, [], []];
  unfollow?.();
  $("opened").hidden = $("warnings").hidden = $("holder").hidden = $("versions").hidden = true;
  $("back").hidden = id === 0;
  held.show(id === 0);
  patientBar(null);
}

// reportsOf returns the reports that a typed number may mean.
const reportsOf = ({ reports }) => reports.map((r) => ({ key: r.lab_report_id, text: [r.test_name || `Report ${r.lab_report_id}`, r.sample_id && `sample ${r.sample_id}`].filter(Boolean).join(", ") }));

async function find(typed) {
  clear(0);
  const { key } = await chooseOne(typed, $("choices"), "report", reportsOf);
  await choose(key);
}

function failed(problem) {
  if (problem.name === "AbortError") return; // another number was typed
  clear(0);
  say(problem.message, true);
}

function onClick(id, action) {
  $(id).addEventListener("click", () => action().catch((problem) => say(problem.message, true)));
}

onClick("open", () => begin(false));
onClick("take", takeOver);
onClick("end", end);
onClick("older", older);
$("report").addEventListener("input", endQuestion);
$("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  find($("report").value.trim()).catch(failed);
});
await header();
const held = workList($("list"), {
  path: `${base}held`, entries: "reports", heads: ["Report", "Patient", "Test", "Edited by", "Since"],
  title: (response) => withTotal(response, "report is edited", "reports are edited"),
  empty: "No one edits a report as a document. To edit one, type or scan its number above.",
  row: (one) => ({ id: one.edit_id, href: `?report=${one.lab_report_id}`,
    cells: [one.sample_id || `Report ${one.lab_report_id}`, describe(one.patient), one.test_name, one.author_name, moment(one.created_at)] }),
});
await offer();
const wanted = Number(new URLSearchParams(location.search).get("report"));
if (wanted > 0) choose(wanted).catch(failed);
else held.show(true);
