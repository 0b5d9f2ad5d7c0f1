package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
)

// maxWait is the maximum timeout for which the server may wait for a shard.
const maxWait = 10 * time.Second

func (s *Store) Bulk(ctx context.Context, target string, ops []document.Op) ([]indexsync.Fate, error) {
	call := elastic.Call{
		Name: "bulk", Body: lines(ops),
		Request: esapi.BulkRequest{
			Index: target, RequireAlias: new(true), Timeout: s.wait(ctx),
			FilterPath: []string{"items.*.status", "items.*.error.type", "items.*.error.reason"},
		},
	}
	var fates []indexsync.Fate
	err := s.client.Do(ctx, call, func(body io.Reader) (err error) {
		fates, err = readFates(body, len(ops))
		return err
	})
	if err != nil {
		return nil, refusal(err)
	}
	return fates, nil
}

// wait returns the server's timeout for a bulk request. It is well below the client's own timeout, because a response
// contains more information than a timeout error.
func (s *Store) wait(ctx context.Context) time.Duration {
	left := s.client.Timeout()
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return max(time.Millisecond, min(maxWait, left/2))
}

// lines returns the body of a bulk request.
func lines(ops []document.Op) []byte {
	size := 0
	for i := range ops {
		size += len(ops[i].Body) + 120
	}
	b := make([]byte, 0, size)
	for i := range ops {
		op := &ops[i]
		if op.Body == nil {
			b = append(b, `{"delete":{"_id":"`...)
		} else {
			b = append(b, `{"index":{"_id":"`...)
		}
		b = strconv.AppendInt(b, op.ID, 10)
		b = append(b, `","routing":"`...)
		b = strconv.AppendInt(b, op.Route, 10)
		b = append(b, `","version":`...)
		b = strconv.AppendInt(b, op.Version, 10)
		b = append(b, `,"version_type":"external_gte"}}`+"\n"...)
		if op.Body != nil {
			b = append(append(b, op.Body...), '\n')
		}
	}
	return b
}

// item is the result of one operation, keyed by the operation's name.
type item map[string]struct {
	Status int `json:"status"`
	Error  struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	} `json:"error"`
}

var errShort = errors.New("the answer does not cover every operation")

func readFates(body io.Reader, ops int) ([]indexsync.Fate, error) {
	var answer struct {
		Items []item `json:"items"`
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(answer.Items) != ops {
		return nil, errShort
	}
	fates := make([]indexsync.Fate, ops)
	for i, one := range answer.Items {
		if len(one) != 1 {
			return nil, errShort
		}
		for _, result := range one {
			fates[i] = classify(result.Status, result.Error.Type, result.Error.Reason)
		}
	}
	return fates, nil
}

// classify returns the fate for the result of one operation. The error type is checked before the status, because a
// blocked cluster returns 403 or 429, and a missing write index 400.
func classify(status int, kind, reason string) indexsync.Fate {
	if kind == "" {
		if status < http.StatusMultipleChoices || status == http.StatusNotFound { // 404: there was nothing to delete
			return indexsync.Fate{}
		}
		kind = "status_" + strconv.Itoa(status)
	}
	verdict, advice, known := byType(kind, reason)
	if !known {
		verdict, advice = byStatus(status)
	}
	return indexsync.Fate{Verdict: verdict, Kind: kind, Advice: advice}
}

// byType classifies errors whose type is sufficient.
func byType(kind, reason string) (v indexsync.Verdict, advice string, known bool) {
	switch kind {
	case "version_conflict_engine_exception":
		return indexsync.Superseded, "", true
	case "cluster_block_exception", "unavailable_shards_exception":
		return indexsync.Later, "", true
	case "es_rejected_execution_exception", "circuit_breaking_exception":
		return indexsync.Busy, "", true
	case "index_not_found_exception", "alias_missing_exception":
		return indexsync.Gone, "", true
	case "index_closed_exception":
		return indexsync.Broken, adviceClosed, true
	case "illegal_argument_exception":
		if strings.HasPrefix(reason, "no write index is defined") {
			return indexsync.Broken, adviceWrite, true
		}
	}
	return 0, "", false
}

// byStatus classifies errors of unknown type by their status. A document that may be accepted later never gets Poison.
func byStatus(status int) (indexsync.Verdict, string) {
	switch {
	case status == http.StatusTooManyRequests:
		return indexsync.Busy, ""
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return indexsync.Broken, adviceAccess
	case status >= http.StatusInternalServerError:
		return indexsync.Later, ""
	}
	return indexsync.Poison, ""
}

// refusal classifies the error response to a whole request. Other errors, such as a lost response, are returned
// unchanged.
func refusal(err error) error {
	var refused *elastic.Error
	if !errors.As(err, &refused) {
		return err
	}
	r := &indexsync.Refusal{Verdict: indexsync.Later, Kind: refused.Type, Err: err}
	if r.Kind == "" {
		r.Kind = "status_" + strconv.Itoa(refused.Status)
	}
	if verdict, advice, known := byType(refused.Type, refused.Reason); known {
		r.Verdict, r.Advice = verdict, advice
		return r
	}
	switch refused.Status {
	case http.StatusBadRequest:
		r.Cause = indexsync.Malformed
	case http.StatusRequestEntityTooLarge:
		r.Cause = indexsync.TooLarge
	case http.StatusNotFound:
		r.Verdict = indexsync.Gone
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		r.Verdict = indexsync.Busy
	case http.StatusUnauthorized, http.StatusForbidden:
		r.Verdict, r.Advice = indexsync.Broken, adviceAccess
	default:
		if refused.Status < http.StatusInternalServerError && refused.Status != http.StatusRequestTimeout {
			r.Verdict, r.Advice = indexsync.Broken, adviceURL
		}
	}
	return r
}
