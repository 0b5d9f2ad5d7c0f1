package main

// board is a dashboard; name is its file's.
type board struct {
	name, title string
	graphs      []graph
}

// graph is a panel. unit is one of Grafana's: s, ops, reqps, short, percentunit.
type graph struct {
	title, unit string
	queries     []query
	help        string
}

type query struct{ expr, legend string }

func boards() []board {
	all := []board{
		overview(),
		queue(),
		capture(),
		search(),
		{"rerun", "Rerun", []graph{
			one("Automatic reruns judged", "ops", "sum by (outcome) (rate(rerun_auto_evaluated_total[5m]))", "{{outcome}}"),
			one("Requests", "ops", "sum by (type) (rate(rerun_requested_total[5m]))", "{{type}}"),
			one("Values from instruments", "ops", "sum by (trigger) (rate(rerun_values_stored_total[5m]))", "{{trigger}}"),
			one("Failures by step", "ops", "sum by (step) (rate(rerun_failed_total[5m]))", "{{step}}"),
			one("Repaired by the sweeper", "ops", "sum by (outcome) (rate(rerun_swept_total[5m]))", "{{outcome}}"),
			one("Closed", "ops", "sum by (how) (rate(rerun_closed_total[5m]))", "{{how}}"),
		}},
		{
			"callout",
			"Critical callout",
			[]graph{
				one("Reports judged, of them critical", "ops", "sum(rate(callout_reports_evaluated_total[5m]))", "judged").
					and("sum(rate(callout_reports_critical_total[5m]))", "critical"),
				one(
					"Escalations",
					"ops",
					"sum(rate(callout_escalated_total[5m]))",
					"escalated",
				).and("sum(rate(callout_suppressed_total[5m]))", "suppressed"),
				one("Waiting, overdue, not escalated any more", "short", "max(callout_open_reports)", "waiting").
					and("max(callout_overdue_reports)", "overdue").
					and("max(callout_exhausted_reports)", "not escalated any more"),
				one("Longest wait", "s", "max(callout_oldest_wait_seconds)", "oldest"),
				one("Told to nobody, corrected, not judged", "ops", "sum(rate(callout_notices_off_total[5m]))", "told to nobody").
					and("sum(rate(callout_corrected_total[5m]))", "corrected").
					and("sum(rate(callout_unclear_total[5m]))", "cannot be judged"),
				one("Found by the reaper", "ops", "sum by (what) (rate(callout_reaped_total[5m]))", "{{what}}"),
				one(
					"Duration, 95 %",
					"s",
					"histogram_quantile(0.95, sum by (operation, le) (rate(callout_operation_seconds_bucket[5m])))",
					"{{operation}}",
				),
				one("Open pages", "short", "sum by (instance) (callout_event_streams)", "{{instance}}"),
				one("Callouts saved", "ops", "sum by (kind) (rate(callout_saved_total[5m]))", "{{kind}}"),
			},
		},
		{
			"billsplit",
			"Bill split",
			[]graph{
				one(
					"Bills split and merged",
					"ops",
					"sum(rate(billsplit_executed_total[5m]))",
					"split",
				).and("sum(rate(billsplit_merged_total[5m]))", "merged"),
				one("Refused by rule", "ops", "sum by (type) (rate(billsplit_failures_total[5m]))", "{{type}}"),
				one(
					"Duration, 95 %",
					"s",
					"histogram_quantile(0.95, sum by (mode, le) (rate(billsplit_seconds_bucket[5m])))",
					"{{mode}}",
				),
				one("Answered from an earlier request", "ops", "sum(rate(billsplit_replayed_total[5m]))", "replayed"),
			},
		},
		{"notifications", "Notifications", []graph{
			one("Triggers", "ops", "sum by (outcome) (rate(notifications_triggers_total[5m]))", "{{outcome}}"),
			one("Marked by people", "ops", "sum by (action) (rate(notifications_marked_total[5m]))", "{{action}}"),
			one("Idle devices", "ops", "sum by (outcome) (rate(notifications_idle_devices_total[5m]))", "{{outcome}}"),
			one("Open pages", "short", "sum by (instance) (notifications_event_streams)", "{{instance}}"),
		}},
		{"externaledit", "External editing", []graph{
			one("Uploads", "ops", "sum by (outcome) (rate(externaledit_uploads_total[5m]))", "{{outcome}}"),
			one("Uploaded bytes", "Bps", "sum by (file) (rate(externaledit_upload_bytes_total[5m]))", "{{file}}"),
			one("Sessions ended", "ops", "sum by (reason) (rate(externaledit_sessions_ended_total[5m]))", "{{reason}}"),
			one("Sweeper", "ops", "sum by (outcome) (rate(externaledit_swept_total[5m]))", "{{outcome}}"),
			one(
				"Duration, 95 %",
				"s",
				"histogram_quantile(0.95, sum by (operation, le) (rate(externaledit_operation_seconds_bucket[5m])))",
				"{{operation}}",
			),
		}},
		{"cellcounter", "Cell counter", []graph{
			one("Mappings saved", "ops", "sum by (change) (rate(cellcounter_mappings_saved_total[5m]))", "{{change}}"),
			one("Calls refused under load", "ops", `sum(rate(grpc_server_refused_total{job="cellcounter"}[5m]))`, "refused"),
			one(
				"Duration, 95 %",
				"s",
				"histogram_quantile(0.95, sum by (operation, le) (rate(cellcounter_operation_seconds_bucket[5m])))",
				"{{operation}}",
			),
		}},
	}
	return all
}

func one(title, unit, expr, legend string) graph {
	return graph{title: title, unit: unit, queries: []query{{expr, legend}}}
}

// and adds a line to a panel.
func (g graph) and(expr, legend string) graph {
	g.queries = append(g.queries, query{expr, legend})
	return g
}

// explain says in the panel what a reader must know.
func (g graph) explain(help string) graph {
	g.help = help
	return g
}
