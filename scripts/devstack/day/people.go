package day

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ask sends a request with the session of the demo's laboratory user and decodes the response into out, unless out is
// nil.
func (p *play) ask(ctx context.Context, method, path string, body, out any) error {
	return p.send(ctx, p.Endpoints.Gateway, http.Header{"Cookie": {"sessionid=" + labUser}}, method, path, body, out)
}

func (p *play) send(ctx context.Context, base string, header http.Header, method, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %.200s", method, path, response.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// judge requests an evaluation of a bill, as the core does after entering values.
func (p *play) judge(ctx context.Context, bill int64) error {
	token, err := p.Token()
	if err != nil {
		return err
	}
	header := http.Header{"Authorization": {"Bearer " + token}, "X-Is-Internal-Request": {"True"}}
	path := fmt.Sprintf("/report/%d/critical/evaluate", bill)
	of := map[string]any{"lab_id": Laboratory}
	return p.send(ctx, p.Endpoints.GatewayInternal, header, http.MethodPost, path, of, nil)
}

func rerun(v visit, verb string) string {
	return fmt.Sprintf("/api-v3/sample-rerun/%d/%s", v.report, verb)
}

// measured delivers an analyser's value, as the interface and then the core do. A first critical value is measured
// again.
func (p *play) measured(ctx context.Context, v visit, value float64, first bool) error {
	text := v.kind.text(value)
	said := map[string]any{"device_data": []map[string]any{{"index": v.kind.index, "value": text}}}
	if err := p.ask(ctx, http.MethodPost, rerun(v, "auto"), said, nil); err != nil {
		return err
	}
	p.count(func(t *Tally) { t.Results++ })
	if v.critical && first {
		p.count(func(t *Tally) { t.Critical++ })
		p.in(6, func(ctx context.Context) error { return p.measuredAgain(ctx, v, text, 1) })
	}
	p.in(10, func(ctx context.Context) error { return p.ready(ctx, v) })
	if v.edits {
		p.in(3, func(ctx context.Context) error { return p.edit(ctx, v) })
	}
	return p.enters(ctx, v, text)
}

// measuredAgain delivers the second value of the same sample. It usually equals the first one; sometimes the first one
// was wrong.
func (p *play) measuredAgain(ctx context.Context, v visit, before string, try int) error {
	text := before
	if v.wrong {
		text = v.kind.text((v.kind.low + v.kind.high) / 2)
	}
	k := v.kind
	values := []map[string]any{{"index": k.index, "value": text, "parameter_name": k.parameter}}
	said := map[string]any{"lab_id": Laboratory, "sample_id": v.sample, "device_id": k.device, "device_name": k.deviceName,
		"rerun_number": 1, "device_data": values}
	if err := p.ask(ctx, http.MethodPost, rerun(v, "new"), said, nil); err != nil {
		if try == attempts {
			return err
		}
		later := func(ctx context.Context) error { return p.measuredAgain(ctx, v, before, try+1) }
		p.in(2*try, later) // the request has not arrived yet
		return nil
	}
	accepted := map[string]any{"rerun_confirmed_data": []map[string]any{{
		"profileTestId": 0, "value": text, "order": k.index, "index": k.index, "highlight": 0, "automatedValue": 1,
		"reportForId_id": v.report, "parameter_name": k.parameter}}}
	if err := p.ask(ctx, http.MethodPost, rerun(v, "confirm"), accepted, nil); err != nil {
		return err
	}
	p.done(Deed{What: Confirmed, Bill: v.bill, Report: v.report, Text: text})
	return p.judge(ctx, v.bill)
}

// enqueue enqueues a task that is not due before the given time.
func (p *play) enqueue(ctx context.Context, path string, notBefore time.Time, task map[string]any) error {
	var accepted struct {
		Jobs []string `json:"job_ids"`
	}
	err := p.ask(ctx, http.MethodPost, path, []map[string]any{task}, &accepted)
	if err == nil {
		p.done(Deed{What: Sent, Jobs: accepted.Jobs, NotBefore: notBefore})
	}
	return err
}

// ready notifies the patient that the results are ready.
func (p *play) ready(ctx context.Context, v visit) error {
	return p.enqueue(ctx, "/queue/", time.Time{}, map[string]any{"task": 1, "task_type": 4, "data": map[string]any{
		"contact": v.contact, "countryCode": 91, "message": "Your report is ready."}})
}

// callSomebody calls about the result that has waited longest; sometimes the call is not answered.
func (p *play) callSomebody(ctx context.Context) error {
	var board struct {
		Open []struct {
			Report int64  `json:"lab_report_id"`
			Bill   int64  `json:"bill_id"`
			Person string `json:"referral_name"`
		} `json:"open"`
	}
	err := p.ask(ctx, http.MethodGet, "/operation/critical-callout/open", nil, &board)
	if err != nil || len(board.Open) <= 3 {
		return err // some results stay on the board
	}
	one := board.Open[0]
	call := map[string]any{"lab_report_ids": []int64{one.Report}, "recipients": []string{"Referral Doctor"},
		"communication_methods": []string{"call"}}
	path := fmt.Sprintf("/report/%d/critical/callout", one.Bill)
	if p.nobodyAnswers() {
		call["is_draft"], call["critical_callout_comment"] = true, "No answer."
		return p.ask(ctx, http.MethodPost, path, call, nil)
	}
	call["read_back"], call["notified_person"] = true, cmp.Or(one.Person, "the ward")
	if err := p.ask(ctx, http.MethodPost, path, call, nil); err != nil {
		return err
	}
	p.count(func(t *Tally) { t.Called++ })
	p.done(Deed{What: Called, Bill: one.Bill, Report: one.Report})
	return nil
}

// nobodyAnswers reports true for every fifth call of the day.
func (p *play) nobodyAnswers() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.minute%20 == 0
}

// edit holds an editing session of a report for some minutes.
func (p *play) edit(ctx context.Context, v visit) error {
	var session struct {
		ID int64 `json:"edit_id"`
	}
	path := "/api-v3/report/external-edit/"
	if err := p.ask(ctx, http.MethodPost, fmt.Sprintf("%s%d", path, v.report),
		map[string]any{"template_id": 1, "word_s3_filepath": "templates/report.docx"}, &session); err != nil {
		return err
	}
	p.count(func(t *Tally) { t.Edited++ })
	p.in(25, func(ctx context.Context) error {
		return p.ask(ctx, http.MethodPut, fmt.Sprintf("%s%d", path, session.ID), map[string]any{}, nil)
	})
	return nil
}

// splitBill moves the second test to a bill that the patient pays.
func (p *play) splitBill(ctx context.Context, v visit) error {
	var billed int64
	if err := p.core.QueryRowContext(ctx, "SELECT billingInfoId_id FROM labReportRelation WHERE id = ?", v.second).
		Scan(&billed); err != nil {
		return fmt.Errorf("find the second test: %w", err)
	}
	err := p.ask(ctx, http.MethodPost, fmt.Sprintf("/api-v3/finance/bill/split/%d", v.bill),
		map[string]any{"test_ids": []int64{billed}, "new_source": "Self Pay"}, nil)
	if err == nil {
		p.count(func(t *Tally) { t.Split++ })
		p.done(Deed{What: Split, Bill: v.bill})
	}
	return err
}

// restock schedules a message to a supplier, one simulated hour ahead.
func (p *play) restock(ctx context.Context) error {
	at := time.Now().Add(time.Duration(float64(time.Hour) / p.Pace)).UTC()
	mail := map[string]any{"to": []string{"orders@supplier.example"}, "subject": "Tubes",
		"message": "Please send 200 EDTA tubes."}
	task := map[string]any{"sch_time": at.Format("2006-01-02T15:04:05"), "task": 2, "task_type": 1, "data": mail}
	return p.enqueue(ctx, "/schedule/", at, task)
}
