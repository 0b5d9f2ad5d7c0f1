// A client as a developer would write it: the types are generated from the API document, nothing is cast, and every error has
// the type of its area. The test compiles it strictly and runs it against the platform.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[]; exitCode?: number };

const [base = "", session = "", report = "", signed = "", the31st = "", word = ""] = process.argv.slice(2);
const reportID = Number(report);

// A platform that is busy says how long to wait; a client does.
async function patient(request: Request): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(request.clone());
    if (answer.status !== 503 || tries === 3) return answer;
    await new Promise<void>((resolve) => setTimeout(resolve, 1000 * Number(answer.headers.get("Retry-After") ?? 1)));
  }
}

const api = createClient<paths>({ baseUrl: base, fetch: patient, headers: { cookie: `sessionid=${session}` } });
const anonymous = createClient<paths>({ baseUrl: base, fetch: patient });

function check(what: string, holds: boolean, shown: unknown): void {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}: ${String(JSON.stringify(shown)).slice(0, 160)}`);
  if (!holds) process.exitCode = 1;
}

// Sample rerun: the walk of a manual rerun, and a conflict.
async function rerun(): Promise<void> {
  const path = { report_id: reportID };
  const asked = await api.POST("/api-v3/sample-rerun/{report_id}/request", {
    params: { path },
    body: { type: "Manual", requested_parameters: [1, 3], parameter_names: ["Haemoglobin", "WBC"] },
  });
  check("a rerun is requested", asked.data?.sampleRedrawFlag === 3, asked.data);
  const again = await api.POST("/api-v3/sample-rerun/{report_id}/request", {
    params: { path },
    body: { type: "Manual", requested_parameters: "[1]" },
  });
  const conflict: components["schemas"]["lab.type.v1.Error"] | undefined = again.error;
  check("a second one is refused", conflict?.code === 409 && conflict.message !== "", conflict);
  const list = await api.GET("/api-v3/sample-rerun/{lab_report_id}", { params: { path: { lab_report_id: reportID } } });
  const pending: number[] | undefined = list.data?.pending_requests[0]?.pending_parameters;
  check("it waits for both values", pending?.length === 2, pending);
  const aborted = await api.POST("/api-v3/sample-rerun/{lab_report_id}/abort", { params: { path: { lab_report_id: reportID } } });
  check("it is aborted", aborted.data?.sampleRedrawFlag === 0, aborted.data);
}

// Task queue: a job's life, with nulls where answers hold them, and the elements at fault.
async function taskQueue(): Promise<void> {
  const queued = await api.POST("/schedule", {
    body: [{ sch_time: the31st, task: 1, task_type: 3, data: { contact: 9876500000, countryCode: 91, message: "Hello" } }],
    params: { header: { "Idempotency-Key": `typescript-${reportID}` } },
  });
  const id = queued.data?.job_ids[0] ?? "";
  const one = await api.POST("/jobInfo", { body: { id } });
  const job: components["schemas"]["lab.taskqueue.v1.Job"] | undefined = one.data?.job;
  const ended: string | null | undefined = job?.ended_at;
  check("a scheduled job has not ended", job?.status === "scheduled" && ended === null, job);
  const many = await api.POST("/jobInfo", { body: { id: [id, "nothing"] } });
  check("a list of jobs", many.data?.jobs?.length === 1 && many.data.not_found?.[0] === "nothing", many.data);
  const cancelled = await api.POST("/cancelJob", { body: { job_id: [id] } });
  check("it is cancelled", cancelled.data?.cancelled[0] === id, cancelled.data);
  const wrong = await api.POST("/queue", { body: [{ task: 4, task_type: 2, data: { url: "ftp://nowhere" } }] });
  const field: string | undefined = wrong.error?.errors?.[0]?.field;
  check("a webhook without a URL is refused", wrong.error?.code === 400 && field !== undefined, wrong.error);
}

// Bill split: a validation that fails is an answer, an execution that fails an error of the area's own body.
async function billSplit(): Promise<void> {
  const path = { bill_id: 9001 };
  const valid = await api.POST("/api-v3/finance/bill/split/{bill_id}", { params: { path }, body: { test_ids: [8001], is_validate: true } });
  check("a validation", valid.data?.status === "failed", valid.data?.failed_validation);
  const refused = await api.POST("/api-v3/finance/bill/split/{bill_id}", { params: { path }, body: { test_ids: [8001], new_source: "Self Pay" } });
  const reason: components["schemas"]["lab.billsplit.v1.FailedValidation"]["type"] | undefined = refused.error?.failed_validation[0]?.type;
  check("an execution that fails", reason === "INVALID_BILL_SOURCE", refused.error?.message);
}

async function others(): Promise<void> {
  const cells = await api.GET("/api-v3/cell-counter-mappings/cells");
  const name: string | undefined = cells.data?.cells[0]?.name;
  check("the cells", name !== undefined, name);
  const differential = await api.POST("/api-v3/cell-counter-mappings/{test_id}/differential", {
    params: { path: { test_id: 55 } },
    body: { counts: [{ cell_id: 1, count: 60 }, { cell_id: 3, count: 40 }], decimals: 1 },
  });
  check("a differential", differential.data?.total === 100 && differential.data.corrected_wbc === null, differential.data?.differential);
  const records = await api.GET("/report/{bill_id}/critical/records", { params: { path: { bill_id: 9005 } } });
  const value: number | null | undefined = records.data?.reports[0]?.critical_parameters[0]?.value;
  check("critical records", typeof value === "number", value);
  const types = await api.GET("/api-v3/notifications/notification-type/all");
  check("notification types", types.data?.notification_types.length === types.data?.total, types.data?.total);
  const inbox = await api.GET("/api-v3/notifications/all", { params: { query: { limit: "10" } } });
  const readOn: number | null | undefined = inbox.data?.data[0]?.read_on;
  check("the inbox", inbox.data !== undefined, readOn);
  const worker = await anonymous.GET("/api-v3/notifications/service-worker/{file}", {
    params: { path: { file: "fcm-sw.js" } },
    parseAs: "text",
  });
  const script: string | undefined = worker.data;
  check("the service worker needs no session", script !== undefined && script.length > 0, script?.length);
}

async function externalEdit(): Promise<void> {
  const none = await api.GET("/api-v3/report/external-edit/{id}", { params: { path: { id: reportID } } });
  check("no session yet", none.response.status === 404 && none.error?.code === 404, none.error);
  const refused = await api.POST("/api-v3/report/external-edit/{id}", { params: { path: { id: Number(signed) } }, body: { template_id: 1, word_s3_filepath: "templates/report.docx" } });
  check("a signed report", refused.error?.code === 403 || refused.error?.code === 409, refused.error);
  const path = { id: reportID };
  const opened = await api.POST("/api-v3/report/external-edit/{id}", { params: { path }, body: { template_id: 1, word_s3_filepath: "templates/report.docx" } });
  const edit_id = opened.data?.edit_id ?? 0;
  const files = new FormData();
  const bytes = Uint8Array.from(atob(word), (c) => c.charCodeAt(0));
  files.set("word_file", new Blob([bytes], { type: "application/vnd.openxmlformats-officedocument.wordprocessingml.document" }), "report.docx");
  files.set("pdf_file", new Blob(["%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n"], { type: "application/pdf" }), "report.pdf");
  const saved = await anonymous.POST("/api-v3/report/external-edit/agent/{edit_id}", {
    params: { path: { edit_id } },
    headers: { authorization: `Bearer ${opened.data?.auth_token}` },
    body: { word_file: "report.docx", pdf_file: "report.pdf" }, // the generator writes a file as a string
    bodySerializer: () => files,
  });
  check("both files are stored", saved.data?.word_s3_path.endsWith(".docx") === true, saved.data ?? saved.error);
  const done = await api.PUT("/api-v3/report/external-edit/{id}", { params: { path: { id: edit_id } } });
  check("the session ends", done.response.status === 200, done.data);
}

async function credentials(): Promise<void> {
  const stranger = await anonymous.GET("/api-v3/sample-rerun/{lab_report_id}", { params: { path: { lab_report_id: reportID } } });
  const message: string | undefined = stranger.error?.message;
  check("no session is 401", stranger.response.status === 401 && message !== undefined, message);
  const search = await anonymous.POST("/api/v1/users/search", { body: { query: "rahul", search_key: "name" } });
  check("search says why not", search.error !== undefined && search.error.message !== "", search.error);
}

for (const walk of [rerun, taskQueue, billSplit, others, externalEdit, credentials]) await walk();
