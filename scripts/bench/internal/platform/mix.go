package platform

import "net/http"

// request is one request of the mix. Every user repeats it: it changes nothing, or adds another row or job.
type request struct {
	name     string
	method   string
	path     string
	body     string
	session  string
	internal bool // sent by a service, to the gateway's internal listener
	light    bool // a read of a few rows
	share    int  // share of the mix
}

const (
	user         = "demo-lab-user"
	organization = "demo-organization"
)

// mix returns the requests of a laboratory's day on the demo's patients. External editing is left out because of its
// documented rate limits.
func mix(search bool) []request {
	all := []request{
		{name: "cells", method: http.MethodGet, path: "/api-v3/cell-counter-mappings/cells/", session: user, share: 8,
			light: true},
		{name: "reruns", method: http.MethodGet, path: "/api-v3/sample-rerun/7001", session: user, share: 6,
			light: true},
		{name: "inbox", method: http.MethodGet, path: "/api-v3/notifications/all?limit=20", session: organization, share: 4},
		{name: "callouts", method: http.MethodGet, path: "/report/9005/critical/records", session: user, share: 3},
		{name: "split", method: http.MethodPost, path: "/api-v3/finance/bill/split/9011", session: user, share: 2,
			body: `{"test_ids":[8036],"is_validate":true}`},
		{name: "automatic rerun", method: http.MethodPost, path: "/api-v3/sample-rerun/7002/auto", session: user, share: 2,
			body: `{"device_data":[{"index":1,"value":"13.4"}]}`},
		{name: "message", method: http.MethodPost, path: "/queue/", session: user, share: 3,
			body: `[{"task":1,"task_type":1,"data":{"contact":"9812345678","countryCode":91,"message":"Your report is ready"}}]`},
		{name: "trigger", method: http.MethodPost, path: "/api-v3/notifications/fcm/2/topic/notify", internal: true, share: 2,
			body: `{"lab_id":12,"org_id":45,"lrr_id":7001}`},
	}
	if search {
		all = append(all, request{name: "search", method: http.MethodPost, path: "/api/v1/users/search", session: user,
			share: 6, body: `{"query":"rahul sh"}`})
	}
	return all
}

// schedule returns a sequence in which each request occurs as often as its share, evenly spread.
func schedule(all []request) []request {
	var out []request
	for left := true; left; {
		left = false
		for i := range all {
			if all[i].share > 0 {
				out, left = append(out, all[i]), true
				all[i].share--
			}
		}
	}
	return out
}
