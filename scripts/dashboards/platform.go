package main

const areaOfRoute = `label_replace(rate(http_server_request_duration_seconds_count[5m]), "area", "$1", "route", "/api-v3/([^/]*).*|/([^/]*).*")`

// overview shows rate, errors, latency and saturation, by area where that can be told.
func overview() board {
	return board{
		"overview",
		"Overview",
		[]graph{
			one(
				"Requests by route",
				"reqps",
				"sum by (route) (rate(http_server_request_duration_seconds_count[5m]))",
				"{{route}}",
			),
			one("Requests by area", "reqps", "sum by (area) ("+areaOfRoute+")", "{{area}}"),
			one(
				"Answers by class",
				"reqps",
				"sum by (code_class) (rate(http_server_request_duration_seconds_count[5m]))",
				"{{code_class}}",
			),
			one(
				"Share of 5xx",
				"percentunit",
				`sum(rate(http_server_request_duration_seconds_count{code_class="5xx"}[5m]) or vector(0))`+
					" / clamp_min(sum(rate(http_server_request_duration_seconds_count[5m])), 0.001)",
				"5xx",
			),
			one("Latency by listener", "s", latency("0.5"), "50 % {{listener}}").and(latency("0.99"), "99 % {{listener}}"),
			one(
				"Calls between services",
				"reqps",
				"sum by (job, grpc_code) (rate(grpc_server_handled_total[5m]))",
				"{{job}} {{grpc_code}}",
			),
			one("Calls refused under load", "reqps", "sum by (job) (rate(grpc_server_refused_total[5m]))", "{{job}}").
				explain("A service refuses calls that it could not answer before their deadline."),
			one("Waits for a database connection", "ops", "sum by (job) (rate(go_sql_wait_count_total[5m]))", "{{job}}"),
			one("Outbox: oldest message", "s", "max by (job, kind) (outbox_oldest_seconds)", "{{job}} {{kind}}"),
			one("Outbox: parked messages", "short", "max by (job, kind) (outbox_parked_rows)", "{{job}} {{kind}}"),
			one("Memory", "bytes", "process_resident_memory_bytes", "{{job}} {{instance}}"),
			one("CPU", "short", "rate(process_cpu_seconds_total[5m])", "{{job}} {{instance}}"),
		},
	}
}

func latency(quantile string) string {
	return "histogram_quantile(" + quantile + ", sum by (listener, le) (rate(http_server_request_duration_seconds_bucket[5m])))"
}

func queue() board {
	return board{
		"taskqueue",
		"Task queue",
		[]graph{
			one("Waiting jobs", "short", "max by (channel, priority) (taskqueue_lane_jobs)", "{{channel}} {{priority}}"),
			one(
				"Age of the oldest waiting job",
				"s",
				"max by (channel, priority) (taskqueue_lane_age_seconds)",
				"{{channel}} {{priority}}",
			),
			one("Due jobs", "short", "max by (channel, priority) (taskqueue_ready_jobs)", "{{channel}} {{priority}}"),
			one("Scheduled jobs", "short", "max by (channel) (taskqueue_scheduled_jobs)", "{{channel}}"),
			one("Wait for the first attempt, 95 %", "s",
				"histogram_quantile(0.95, sum by (channel, priority, le) (rate(taskqueue_wait_seconds_bucket[5m])))",
				"{{channel}} {{priority}}"),
			one("Enqueued", "ops", "sum by (channel) (rate(taskqueue_enqueued_total[5m]))", "{{channel}}"),
			one("Refused", "ops", "sum by (reason) (rate(taskqueue_refused_total[5m]))", "{{reason}}"),
			one("Failed and unknown jobs", "short", "max(taskqueue_dead_jobs)", "kept"),
			one("Ended unknown", "short",
				`sum by (channel) (increase(taskqueue_attempts_total{outcome="unknown"}[1h]))`+
					` + sum by (channel) (increase(taskqueue_reaped_total{decision="held"}[1h]))`, "{{channel}}").
				explain("Look them up at the provider and end them with taskqueue resolve."),
			one("Waiting for the archive", "short", "max(taskqueue_archive_backlog_jobs)", "jobs").
				and("max(taskqueue_archive_limit_jobs)", "limit").
				explain("At the limit ordinary jobs are held back until the archive has taken some."),
			one("Paused receivers and providers", "short", "sum(taskqueue_receivers_paused)", "receivers").
				and("sum by (provider) (taskqueue_provider_paused)", "{{provider}}"),
			one(
				"Attempts by outcome",
				"ops",
				"sum by (channel, outcome) (rate(taskqueue_attempts_total[5m]))",
				"{{channel}} {{outcome}}",
			),
			one("Duration of an attempt, 95 %", "s",
				"histogram_quantile(0.95, sum by (channel, le) (rate(taskqueue_attempt_seconds_bucket[5m])))", "{{channel}}"),
			one("Running", "short", "sum by (channel) (taskqueue_running_jobs)", "{{channel}}"),
			one("Leases lost", "ops", "sum by (channel) (rate(taskqueue_leases_lost_total[5m]))", "{{channel}}"),
			one("Reaper", "ops", "sum by (channel, decision) (rate(taskqueue_reaped_total[5m]))", "{{channel}} {{decision}}"),
			one("Broken invariants", "ops", "sum by (rule) (rate(taskqueue_audit_violations_total[5m]))", "{{rule}}").
				explain("Always zero: anything else is a defect of the queue."),
			one(
				"Providers",
				"ops",
				"sum by (provider, outcome) (rate(taskqueue_provider_attempts_total[5m]))",
				"{{provider}} {{outcome}}",
			),
		},
	}
}

func capture() board {
	return board{
		"cdc",
		"Change capture",
		[]graph{
			one("Waiting changes", "short", "sum(cdc_consumer_lag)", "lag"),
			one(
				"Consumer and connectors",
				"short",
				"min(cdc_up)",
				"consumer",
			).and("min by (connector) (cdc_connector_up)", "{{connector}}"),
			one("Changes", "ops", "sum by (topic) (rate(cdc_messages_processed_total[5m]))", "{{topic}}"),
			one("Failures", "ops", "sum by (topic) (rate(cdc_messages_failed_total[5m]))", "{{topic}}"),
			one("Dead letters", "short", "sum by (topic) (increase(cdc_messages_dlq_total[1h]))", "{{topic}}"),
			one("Partitions that wait for a person", "short", "sum(cdc_partitions_paused)", "paused"),
			one(
				"Duration of a batch, 95 %",
				"s",
				"histogram_quantile(0.95, sum by (topic, le) (rate(cdc_batch_seconds_bucket[5m])))",
				"{{topic}}",
			),
			one(
				"Differences found by reconciliation",
				"ops",
				"sum by (kind) (rate(cdc_reconcile_differences_total[1h]))",
				"{{kind}}",
			),
			one("Lost places", "short", "sum by (reader) (increase(cdc_positions_lost_total[1h]))", "{{reader}}"),
			one("Laboratories left to a person", "short", "sum(increase(cdc_reconcile_held_total[1h]))", "held"),
		},
	}
}

func search() board {
	return board{
		"search",
		"Patient search",
		[]graph{
			one("Searches", "reqps", "sum by (key, outcome) (rate(search_queries_total[5m]))", "{{key}} {{outcome}}"),
			one("Latency", "s", "histogram_quantile(0.5, sum by (le) (rate(search_query_duration_seconds_bucket[5m])))", "50 %").
				and("histogram_quantile(0.99, sum by (le) (rate(search_query_duration_seconds_bucket[5m])))", "99 %"),
			one("Age of the data", "s", "max(search_data_age_seconds)", "age"),
			one("Searches without a hit", "reqps", "sum by (key) (rate(search_zero_results_total[5m]))", "{{key}}"),
			one(
				"Rate limit",
				"reqps",
				"sum by (mode, decision) (rate(search_rate_limit_decisions_total[5m]))",
				"{{mode}} {{decision}}",
			),
			one("Sign-ins", "reqps", "sum by (kind, outcome) (rate(search_auth_total[5m]))", "{{kind}} {{outcome}}"),
		},
	}
}
