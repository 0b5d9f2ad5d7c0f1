package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Archive reads and writes table tq_archive.
type Archive struct{ db *sql.DB }

// NewArchive makes an archive over db, which stays the caller's to close.
func NewArchive(db *sql.DB) *Archive { return &Archive{db: db} }

const insertArchive = `INSERT INTO tq_archive (job_id, lab_id, caller, task, task_type, priority, retry, status, attempts, attempts_detail,
 log_tag, result, error, reason, created_at, scheduled_at, started_at, ended_at) VALUES `

// Assignments run from left to right, so ended_at comes last. An equal end is the same end written again.
var replaceArchive = func() string {
	columns := []string{"status", "attempts", "attempts_detail", "result", "error", "reason", "scheduled_at",
		"started_at", "ended_at"}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = fmt.Sprintf("%s = IF(VALUES(ended_at) >= ended_at, VALUES(%s), %s)", c, c, c)
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(parts, ", ")
}()

const archiveColumns = 18

// Write stores ends; a job that is there is replaced only by a newer end. Writing again changes nothing. Rows that
// the database refuses for what they hold are skipped and returned.
func (a *Archive) Write(ctx context.Context, list []janitor.Entry) (refused []job.ID, err error) {
	err = a.write(ctx, list)
	if err == nil || !dataError(err) {
		return nil, err
	}
	for i := range list {
		err := a.write(ctx, list[i:i+1])
		switch {
		case err == nil:
		case dataError(err):
			refused = append(refused, list[i].ID)
		default:
			return refused, err
		}
	}
	return refused, nil
}

func (a *Archive) write(ctx context.Context, list []janitor.Entry) error {
	if len(list) == 0 {
		return nil
	}
	row := "(" + strings.Repeat("?,", archiveColumns-1) + "?)"
	args := make([]any, 0, archiveColumns*len(list))
	for i := range list {
		values, err := archiveRow(&list[i])
		if err != nil {
			return err
		}
		args = append(args, values...)
	}
	query := insertArchive + strings.Repeat(row+",", len(list)-1) + row + replaceArchive
	if _, err := a.db.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d ended jobs: %w", len(list), err)
	}
	return nil
}

type storedResult struct {
	HTTPStatus int    `json:"http_status,omitempty"`
	MessageID  string `json:"message_id,omitempty"`
	Excerpt    string `json:"excerpt,omitempty"`
	// Callbacks are the ids of the jobs that told others of the end; /jobInfo/ does not show them.
	Callbacks []job.ID `json:"callbacks,omitempty"`
}

func (r *storedResult) empty() bool {
	return r.HTTPStatus == 0 && r.MessageID == "" && r.Excerpt == "" && len(r.Callbacks) == 0
}

type storedAttempt struct {
	StartedAt  int64  `json:"started_at"`
	EndedAt    int64  `json:"ended_at"`
	HTTPStatus int    `json:"http_status,omitempty"`
	Error      string `json:"error,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func archiveRow(e *janitor.Entry) ([]any, error) {
	r := &e.Record
	var result, attempts any
	if stored := (storedResult{r.HTTPStatus, r.MessageID, r.Excerpt, r.Callbacks}); !stored.empty() {
		text, err := json.Marshal(stored)
		if err != nil {
			return nil, fmt.Errorf("encode a result: %w", err)
		}
		result = string(text)
	}
	if len(r.History) > 0 {
		list := make([]storedAttempt, len(r.History))
		for i, h := range r.History {
			list[i] = storedAttempt{h.StartedMs, h.EndedMs, h.HTTPStatus, h.Error, h.Reason}
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("encode attempts: %w", err)
		}
		attempts = string(text)
	}
	return []any{
		string(e.ID),
		number(r.LabID),
		clip(r.Caller, 64),
		r.Task,
		r.TaskType,
		int(e.ID.Lane().Priority),
		r.Retry,
		r.State.String(),
		r.Attempts,
		attempts,
		text(clip(r.LogTag, 128)),
		result,
		text(clip(r.Error, 1024)),
		text(clip(r.Reason, 64)),
		r.CreatedMs,
		number(r.ScheduledMs),
		number(r.StartedMs),
		r.EndedMs,
	}, nil
}

const selectArchive = `SELECT job_id, COALESCE(lab_id, 0), caller, task, task_type, retry, status, attempts, attempts_detail, COALESCE(log_tag, ''), result,
 COALESCE(error, ''), COALESCE(reason, ''), created_at, COALESCE(scheduled_at, 0), COALESCE(started_at, 0), ended_at
  FROM tq_archive WHERE job_id IN (?`

// Find reads the ends of jobs; those that are not there are missing in the answer. The caller checks whose they are.
func (a *Archive) Find(ctx context.Context, ids []job.ID) (map[job.ID]*job.Record, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = string(id)
	}
	rows, err := a.db.QueryContext(ctx, selectArchive+strings.Repeat(",?", len(ids)-1)+")", args...)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	defer func() { _ = rows.Close() }()
	found := map[job.ID]*job.Record{}
	for rows.Next() {
		id, r, err := scanArchive(rows)
		if err != nil {
			return nil, err
		}
		found[id] = r
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	return found, nil
}

func scanArchive(rows *sql.Rows) (job.ID, *job.Record, error) {
	var id job.ID
	var status string
	var attempts, result []byte
	r := &job.Record{}
	if err := rows.Scan(&id, &r.LabID, &r.Caller, &r.Task, &r.TaskType, &r.Retry, &status, &r.Attempts, &attempts,
		&r.LogTag, &result, &r.Error, &r.Reason, &r.CreatedMs, &r.ScheduledMs, &r.StartedMs, &r.EndedMs); err != nil {
		return "", nil, fmt.Errorf("scan an archived job: %w", err)
	}
	r.State = stateOf(status)
	var known storedResult
	var history []storedAttempt
	if err := errors.Join(parse(result, &known), parse(attempts, &history)); err != nil {
		return "", nil, fmt.Errorf("read archived job %s: %w", id, err)
	}
	r.HTTPStatus, r.MessageID, r.Excerpt = known.HTTPStatus, known.MessageID, known.Excerpt
	r.Callbacks = known.Callbacks
	for _, h := range history {
		r.History = append(
			r.History,
			job.Attempt{StartedMs: h.StartedAt, EndedMs: h.EndedAt, HTTPStatus: h.HTTPStatus, Error: h.Error, Reason: h.Reason},
		)
	}
	return id, r, nil
}

func parse(raw []byte, into any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, into)
}

func stateOf(name string) job.State {
	i := slices.IndexFunc(job.States(), func(s job.State) bool { return s.String() == name })
	if i < 0 {
		return job.Unknown
	}
	return job.States()[i]
}

// purgeBatch keeps each delete short.
const purgeBatch = 2000

// Purge deletes up to 2,000 jobs that ended before a time, and reports how many.
func (a *Archive) Purge(ctx context.Context, before time.Time) (int64, error) {
	done, err := a.db.ExecContext(ctx, "DELETE FROM tq_archive WHERE ended_at < ? ORDER BY ended_at LIMIT ?",
		before.UnixMilli(), purgeBatch)
	if err != nil {
		return 0, fmt.Errorf("purge the archive: %w", err)
	}
	return done.RowsAffected()
}

// PurgeBatch is the most that one Purge deletes.
func (a *Archive) PurgeBatch() int64 { return purgeBatch }

// dataError reports that the server refuses a value: the same statement fails for ever.
func dataError(err error) bool {
	var answered *mysql.MySQLError
	if !errors.As(err, &answered) {
		return false
	}
	switch answered.Number {
	case 1264, 1265, 1292, 1366, 1406, 3140, 3141,
		4025: // out of range, truncated, wrong, charset, too long, JSON, constraint
		return true
	}
	return false
}

// clip makes s valid text of at most n characters.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

func number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
