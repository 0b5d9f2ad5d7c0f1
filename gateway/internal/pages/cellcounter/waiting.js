// The smears that wait for a count. An entry opens the counter with its report, as the observer whose count is missing.
import { moment } from "../assets/lab.js";
import { describe } from "../assets/find.js";
import { withTotal, workList } from "../assets/worklist.js";

const missing = (one) => (one.counted_at === null ? "Both observers" : `Observer ${one.missing_observer}`);
const other = (one) => (one.counted_by_caller ? "You (the other observer is another person)" : one.counted_by_name || "Someone");

export const waitingSmears = (section) => workList(section, {
  path: "/api-v3/cell-counter-mappings/waiting", entries: "reports", heads: ["Sample", "Patient", "Test", "Missing", "Counted"],
  title: (list) => withTotal(list, "smear waits for a count", "smears wait for a count"),
  empty: "No smear waits for a count. To count one anyway, enter its sample or its test above.",
  row: (one) => ({
    id: one.lab_report_id, href: `?test=${one.test_id}&report=${one.lab_report_id}&observer=${one.missing_observer}`,
    cells: [one.sample_id || `Report ${one.lab_report_id}`, describe(one.patient), one.test_name, missing(one),
      one.counted_at === null ? "" : `${other(one)}, ${moment(one.counted_at * 1000)}`],
  }),
});
