package externaledit

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// Ids of the seeded laboratory.
const (
	labID   = 910
	firstID = 9_100_000
	prefix  = "/api-v3/report/external-edit"
	// ofUser is the number of sessions that one user opens, below the limit of ten a minute.
	ofUser = 10
)

// laboratory holds reports without sessions, and enough users for the documented rate limits.
type laboratory struct {
	*testlab.Lab
	base     string
	sessions int // sessions of a round
	round    int
	first    int // first report of the round
	ids      []atomic.Int64
}

func newLaboratory(ctx context.Context, s *sandbox.Sandbox, sessions int) (*laboratory, error) {
	lab, err := testlab.Open(s.Dir, s.Endpoints.Gateway)
	if err != nil {
		return nil, err
	}
	l := &laboratory{Lab: lab, base: s.Endpoints.Gateway, sessions: sessions, ids: make([]atomic.Int64, sessions)}
	if err := l.Apply(ctx, map[string]any{
		"mysql": map[string]any{
			"labs": []any{map[string]any{"id": labID, "labName": "Bench"}},
			"report_word_template": []any{map[string]any{"id": 910, "lab_id": labID, "name": "bench",
				"word_s3_filepath": "templates/bench.docx"}},
		},
		"objects": []any{map[string]any{"key": "templates/bench.docx", "text": "PK"}},
	}); err != nil {
		return nil, err
	}
	return l, l.fresh(ctx)
}

// fresh adds reports and users that no request has used yet.
func (l *laboratory) fresh(ctx context.Context) error {
	l.round++
	l.first = firstID + l.round*l.sessions
	var reports, users []any
	for i := range l.sessions {
		reports = append(reports, map[string]any{"id": l.first + i, "labId_id": labID, "billId_id": 1, "userDetailsId_id": 1,
			"reportID_id": 1})
		if i%ofUser == 0 {
			users = append(users, map[string]any{"id": l.user(i), "session_type": "lab_user", "lab_id": labID,
				"lab_user_id": l.first + i,
				"username":    "bench", "full_name": "Bench", "permissions": []string{"report_edit"}})
		}
	}
	return l.Apply(ctx, map[string]any{"mysql": map[string]any{"labReportRelation": reports}, "sessions": users})
}

func (l *laboratory) user(i int) string {
	return fmt.Sprintf("bench-%d-%d", l.round, i/ofUser)
}

// rate calls do for every session over a few connections and returns the calls per second.
func (l *laboratory) rate(do func(i int) error) (float64, error) {
	start := time.Now()
	err := load.Each(l.sessions, connections, do)
	return float64(l.sessions) / time.Since(start).Seconds(), err
}

// call sends a request as the user of session i and decodes the answer.
func (l *laboratory) call(ctx context.Context, i int, method, path, body string, answer any) error {
	text, err := l.Call(ctx, testlab.Request{Session: l.user(i), Method: method, Path: prefix + path, Body: body})
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

const creation = `{"template_id":910,"word_s3_filepath":"templates/bench.docx"}`

func (l *laboratory) open(ctx context.Context, i int) error {
	_, err := l.create(ctx, i)
	return err
}

// create opens the session of report i and returns its token.
func (l *laboratory) create(ctx context.Context, i int) (string, error) {
	var answer struct {
		ID    int64  `json:"edit_id"`
		Token string `json:"auth_token"`
	}
	err := l.call(ctx, i, http.MethodPost, fmt.Sprintf("/%d", l.first+i), creation, &answer)
	l.ids[i].Store(answer.ID)
	return answer.Token, err
}

func (l *laboratory) show(ctx context.Context, i int) error {
	var answer struct {
		ID    int64  `json:"id"`
		Token string `json:"auth_token"`
	}
	err := l.call(ctx, i, http.MethodGet, fmt.Sprintf("/%d", l.first+i), "", &answer)
	if err == nil && (answer.ID != l.ids[i].Load() || answer.Token == "") {
		return fmt.Errorf("report %d shows session %d", l.first+i, answer.ID)
	}
	return err
}

func (l *laboratory) end(ctx context.Context, i int) error {
	var answer struct{ Message string }
	return l.call(ctx, i, http.MethodPut, fmt.Sprintf("/%d", l.ids[i].Load()), "", &answer)
}

// check is the correctness gate of a round: every session was opened once and ended.
func (l *laboratory) check(ctx context.Context) error {
	var ended, events int
	err := l.DB.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM external_edit_session WHERE lab_report_id >= ? AND lab_report_id < ? AND is_active = 0",
		l.first, l.first+l.sessions).Scan(&ended)
	if err != nil {
		return err
	}
	if ended != l.sessions {
		return fmt.Errorf("%d of %d sessions ended", ended, l.sessions)
	}
	deadline := time.Now().Add(time.Minute)
	for events = 1; events > 0; time.Sleep(20 * time.Millisecond) { // the next round begins without a backlog
		if err := l.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM outbox_externaledit").Scan(&events); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d events still wait a minute after the last change", events)
		}
	}
	return nil
}
