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

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/services/taskqueue/internal/janitor"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

const insertArchive = `INSERT INTO tq_archive (job_id, lab_id, caller, task, task_type, priority, retry, status, attempts, attempts_detail,
 log_tag, result, error, reason, created_at, scheduled_at, started_at, ended_at) VALUES `

// MySQL evaluates assignments from left to right, so ended_at is assigned last. An equal ended_at means that the same
// end is written again.
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

// Write stores finished jobs in tq_archive. An existing row is replaced only by a newer end, so that a repeat changes
// nothing. Jobs whose values the database rejects are skipped and returned.
func (s *Store) Write(ctx context.Context, list []janitor.Entry) (refused []job.ID, err error) {
	err = s.write(ctx, list)
	if err == nil || !dataError(err) {
		return nil, err
	}
	for i := range list {
		err := s.write(ctx, list[i:i+1])
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

func (s *Store) write(ctx context.Context, list []janitor.Entry) error {
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
	if _, err := s.db.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d ended jobs: %w", len(list), err)
	}
	return nil
}

// storedResult is the JSON of the column result. Its callbacks, the ids of the jobs that reported the end, are not
// shown by /jobInfo/.
type storedResult struct {
	HTTPStatus int      `json:"http_status,omitempty"`
	MessageID  string   `json:"message_id,omitempty"`
	Excerpt    string   `json:"excerpt,omitempty"`
	Callbacks  []job.ID `json:"callbacks,omitempty"`
}

// storedAttempt is an element of the column attempts_detail.
type storedAttempt struct {
	StartedMs  int64  `json:"started_at"`
	EndedMs    int64  `json:"ended_at"`
	HTTPStatus int    `json:"http_status,omitempty"`
	Error      string `json:"error,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func archiveRow(e *janitor.Entry) ([]any, error) {
	r := &e.Record
	var history []storedAttempt
	for _, a := range r.History {
		history = append(history, storedAttempt(a))
	}
	attempts, wrong := column(history)
	result, err := column(storedResult{r.HTTPStatus, r.MessageID, r.Excerpt, r.Callbacks})
	if err := errors.Join(wrong, err); err != nil {
		return nil, fmt.Errorf("encode ended job %s: %w", e.ID, err)
	}
	return []any{
		string(e.ID),
		orNull(r.LabID),
		clip(r.Caller, 64),
		r.Task,
		r.TaskType,
		int(e.ID.Lane().Priority),
		r.Retry,
		r.State.String(),
		r.Attempts,
		attempts,
		orNull(clip(r.LogTag, 128)),
		result,
		orNull(clip(r.Error, 1024)),
		orNull(clip(r.Reason, 64)),
		r.CreatedMs,
		orNull(r.ScheduledMs),
		orNull(r.StartedMs),
		r.EndedMs,
	}, nil
}

const selectArchive = `SELECT job_id, COALESCE(lab_id, 0), caller, task, task_type, retry, status, attempts,
 COALESCE(attempts_detail, '[]'), COALESCE(log_tag, ''), COALESCE(result, '{}'), COALESCE(error, ''),
 COALESCE(reason, ''), created_at, COALESCE(scheduled_at, 0), COALESCE(started_at, 0), ended_at
 FROM tq_archive WHERE job_id IN (`

// Find returns the records of jobs; unknown jobs are missing from the map. The caller must check that it may see them.
func (s *Store) Find(ctx context.Context, ids []job.ID) (map[job.ID]*job.Record, error) {
	marks, args := mysqldb.In(ids)
	found := map[job.ID]*job.Record{}
	err := s.each(ctx, "the archive", selectArchive+marks+")", args, func(rows *sql.Rows) error {
		id, r, err := scanArchive(rows)
		found[id] = r
		return err
	})
	return found, err
}

func scanArchive(rows *sql.Rows) (job.ID, *job.Record, error) {
	var id job.ID
	var status string
	var attempts, result []byte
	r := &job.Record{}
	if err := rows.Scan(&id, &r.LabID, &r.Caller, &r.Task, &r.TaskType, &r.Retry, &status, &r.Attempts, &attempts,
		&r.LogTag, &result, &r.Error, &r.Reason, &r.CreatedMs, &r.ScheduledMs, &r.StartedMs, &r.EndedMs); err != nil {
		return "", nil, err
	}
	r.State = stateOf(status)
	var known storedResult
	var history []storedAttempt
	if err := errors.Join(json.Unmarshal(result, &known), json.Unmarshal(attempts, &history)); err != nil {
		return "", nil, fmt.Errorf("read archived job %s: %w", id, err)
	}
	r.HTTPStatus, r.MessageID, r.Excerpt = known.HTTPStatus, known.MessageID, known.Excerpt
	r.Callbacks = known.Callbacks
	for _, h := range history {
		r.History = append(r.History, job.Attempt(h))
	}
	return id, r, nil
}

func stateOf(name string) job.State {
	i := slices.IndexFunc(job.States(), func(s job.State) bool { return s.String() == name })
	if i < 0 {
		return job.Unknown
	}
	return job.States()[i]
}

// purgeBatch is the maximum number of rows per DELETE, which keeps the statement short.
const purgeBatch = 2000

// Purge deletes up to 2,000 jobs that ended before the given time, and returns their number.
func (s *Store) Purge(ctx context.Context, before time.Time) (int64, error) {
	done, err := s.db.ExecContext(ctx, "DELETE FROM tq_archive WHERE ended_at < ? ORDER BY ended_at LIMIT ?",
		before.UnixMilli(), purgeBatch)
	if err != nil {
		return 0, fmt.Errorf("purge the archive: %w", err)
	}
	return done.RowsAffected()
}

// PurgeBatch returns the maximum number of jobs deleted per Purge.
func (s *Store) PurgeBatch() int64 { return purgeBatch }

// dataError reports whether the server rejected a value, so that repeating the statement cannot succeed.
func dataError(err error) bool {
	// Error numbers: out of range, truncated, wrong value, charset, too long, JSON, constraint.
	return answers(err, 1264, 1265, 1292, 1366, 1406, 3140, 3141, 4025)
}

// clip returns s as valid UTF-8 of at most n characters.
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// column returns the text for a JSON column; nil (NULL) for empty values.
func column(v any) (any, error) {
	raw, err := json.Marshal(v)
	if text := string(raw); err == nil && text != "null" && text != "{}" {
		return text, nil
	}
	return nil, err
}

// orNull returns nil (NULL) for zero values.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}
