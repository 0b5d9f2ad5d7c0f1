package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// request is an HTTP request with a session of the demo laboratory.
type request struct{ service, method, path, body, session string }

// Sessions of the demo laboratory.
const (
	user         = "demo-lab-user"
	organization = "demo-organization"
)

// reads change nothing, so a load may repeat them. There is none of the task queue, because reading a job needs the id
// that only its creator gets.
var reads = []request{
	{"cellcounter", "GET", "/api-v3/cell-counter-mappings/cells", "", user},
	{"billsplit", "GET", "/api-v3/finance/bill/split/9011/family", "", user},
	{"callout", "GET", "/operation/critical-callout/open", "", user},
	{"rerun", "GET", "/api-v3/sample-rerun/7001", "", user},
	{"externaledit", "GET", "/api-v3/report/external-edit/7001/revisions", "", user},
	{"notifications", "GET", "/api-v3/notifications/all", "", organization},
	{"search", "POST", "/api/v1/users/search", `{"query":"rahul sha"}`, user},
}

// writes have effects in other services, queues and stores.
var writes = []request{
	{"rerun", "POST", "/api-v3/sample-rerun/7001/auto",
		`{"device_data":[{"index":1,"value":"6.1"},{"index":3,"value":"31.5"},{"index":12,"value":"18"}]}`, user},
	{"taskqueue", "POST", "/queue/",
		`[{"task":1,"task_type":4,"data":{"contact":9876543210,"countryCode":91,"message":"Your report is ready."}}]`, user},
	{"billsplit", "POST", "/api-v3/finance/bill/split/9011", `{"test_ids":[8032],"new_source":"Self Pay"}`, user},
	{"callout", "POST", "/report/9005/critical/callout",
		`{"lab_report_ids":[7009],"recipients":["Referral Doctor"],"communication_methods":["call"],"read_back":true,"notified_person":"Dr Arvind Rao"}`, user},
	{"cellcounter", "POST", "/api-v3/cell-counter-mappings/55",
		`{"lab_id":12,"mappings":[{"key":"n","cell_id":1,"report_format_index":9,"report_format_order":9}]}`, user},
	{"externaledit", "POST", "/api-v3/report/external-edit/7001", `{"template_id":1,"word_s3_filepath":"templates/report.docx"}`, user},
}

// send sends the request to the platform. Any status except 200 is an error. 429 of external editing is allowed,
// because a load exceeds its fixed rate limits.
func (r request) send(ctx context.Context, client *http.Client, base string) (body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	asked, err := http.NewRequestWithContext(ctx, r.method, base+r.path, strings.NewReader(r.body))
	if err != nil {
		return "", err
	}
	asked.Header.Set("Cookie", "sessionid="+r.session)
	asked.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(asked)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	limited := answer.StatusCode == http.StatusTooManyRequests && r.service == "externaledit"
	if answer.StatusCode != http.StatusOK && !limited {
		return "", fmt.Errorf("%s %s answers %d %s", r.method, r.path, answer.StatusCode, text)
	}
	return string(text), nil
}

// checkRequests sends the requests once. Their writes change the demo laboratory.
func checkRequests(ctx context.Context, c cluster) error {
	base, err := c.gateway()
	if err != nil {
		return err
	}
	return errors.Join(c.ask(ctx, slices.Concat(writes, reads)),
		arrives(ctx, base, request{"rerun", "GET", "/api-v3/sample-rerun/7001", "", user}, `"pending_requests":[{`),
		c.captured(ctx))
}

// ask sends each of the requests once and prints its duration.
func (c cluster) ask(ctx context.Context, requests []request) error {
	base, err := c.gateway()
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range requests {
		begin := time.Now()
		body, err := r.send(ctx, http.DefaultClient, base)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", r.service, err))
			continue
		}
		fmt.Printf("           %-14s %-4s %-48s 200 in %4d ms, %d bytes\n", r.service, r.method, r.path, time.Since(begin).Milliseconds(), len(body))
	}
	return errors.Join(problems...)
}

// captured waits until a search finds a patient who reached the index through Kafka Connect and Kafka. It is a new
// patient, or in the trial, whose index was empty, one of the demo.
func (c cluster) captured(ctx context.Context) error {
	base, err := c.gateway()
	if err != nil {
		return err
	}
	contact := "9876543210"
	if c.space != trial {
		contact = fmt.Sprintf("5%09d", time.Now().UnixMilli()%1_000_000_000) // not yet in use
		if err := c.database("INSERT INTO lab.userDetails (labId_id, branchId, fullName, firstName, contact, countryCode)" +
			" VALUES (12, 3, 'Cluster', 'Cluster', '" + contact + "', '91')"); err != nil {
			return err
		}
	}
	search := request{"search", "POST", "/api/v1/users/search", `{"query":"` + contact + `"}`, user}
	return arrives(ctx, base, search, contact)
}

// arrives waits until the response contains the words.
func arrives(ctx context.Context, base string, r request, words string) error {
	return await(ctx, 30*time.Second, func() error {
		body, err := r.send(ctx, http.DefaultClient, base)
		if err == nil && !strings.Contains(body, words) {
			err = fmt.Errorf("%s %s answers without %s: %s", r.method, r.path, words, body)
		}
		return err
	})
}
