package rerun

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

// Ids of the seeded laboratory, far from those of the demo.
const (
	labID    = 900
	testID   = 900
	firstID  = 9_000_000
	sampleID = "BENCH"
)

// laboratory is one with a test of 30 parameters, and with reports that wait for a rerun.
type laboratory struct {
	base    string
	target  seed.Target
	db      *sql.DB
	mongo   *mongo.Client
	docs    *mongo.Database
	client  *http.Client
	reports int // of a round
	next    int // the first report of the next round
	stored  int // values that were counted in the document store
}

func newLaboratory(ctx context.Context, dir string, e endpoints.Endpoints, reports int) (*laboratory, error) {
	target, err := seed.Stack(dir)
	if err != nil {
		return nil, err
	}
	l := &laboratory{base: e.Gateway, target: target, reports: reports, next: firstID, client: &http.Client{
		Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	if l.db, err = target.OpenMySQL(); err != nil {
		return nil, err
	}
	if l.mongo, err = mongo.Connect(options.Client().ApplyURI(e.MongoURI)); err != nil {
		return nil, err
	}
	l.docs = l.mongo.Database(e.MongoDatabase)
	return l, l.apply(ctx, test(), dir)
}

func (l *laboratory) close() {
	_ = l.db.Close()
	_ = l.mongo.Disconnect(context.Background())
}

// test is the fixture of the laboratory, its session and its test.
func test() map[string]any {
	var formats []map[string]any
	for i := 1; i <= parameters; i++ {
		formats = append(
			formats,
			map[string]any{
				"id":            900_000 + i,
				"testId_id":     testID,
				"index":         i,
				"order":         i,
				"parameterName": "Parameter " + strconv.Itoa(i),
			},
		)
	}
	return map[string]any{
		"mysql": map[string]any{
			"labs":         []any{map[string]any{"id": labID, "labName": "Bench"}},
			"userDetails":  []any{map[string]any{"id": labID, "labId_id": labID, "gender": "F"}},
			"AllTests":     []any{map[string]any{"id": testID, "labId_id": labID, "testName": "CBC"}},
			"ReportFormat": formats,
		},
		"sessions": []any{
			map[string]any{"id": "bench", "session_type": "lab_user", "lab_id": labID, "lab_user_id": 1, "username": "bench"},
		},
	}
}

func (l *laboratory) apply(ctx context.Context, fixture map[string]any, dir string) error {
	text, err := json.Marshal(fixture)
	if err != nil {
		return err
	}
	parsed, err := seed.Parse(text, dir)
	if err != nil {
		return err
	}
	_, err = l.target.Apply(ctx, parsed)
	return err
}

// round makes fresh reports, requests a rerun of each, measures how long send takes, counts what is stored, and
// clears it away. A laboratory has as many open reruns at a time as one round.
func (l *laboratory) round(
	ctx context.Context,
	send func(context.Context, *laboratory, int) error,
) (time.Duration, error) {
	first := l.next
	l.next += l.reports
	if err := l.open(ctx, first); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := send(ctx, l, first); err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	return elapsed, l.settle(ctx, first)
}

func (l *laboratory) open(ctx context.Context, first int) error {
	var rows []map[string]any
	for id := first; id < first+l.reports; id++ {
		rows = append(
			rows,
			map[string]any{
				"id":               id,
				"labId_id":         labID,
				"billId_id":        labID,
				"userDetailsId_id": labID,
				"reportID_id":      testID,
				"sampleId":         sampleID,
			},
		)
	}
	if err := l.apply(ctx, map[string]any{"mysql": map[string]any{"labReportRelation": rows}}, ""); err != nil {
		return err
	}
	var indices []string
	for i := 1; i <= parameters; i++ {
		indices = append(indices, strconv.Itoa(i))
	}
	body := `{"type":"Manual","requested_parameters":"[` + strings.Join(indices, ", ") + `]","is_active":true}`
	return l.each(first, 4, func(id int) error {
		_, err := l.post(ctx, id, "request", body)
		return err
	})
}

// settle is the correctness gate: every value is stored and every report fulfilled.
func (l *laboratory) settle(ctx context.Context, first int) error {
	stored, err := l.docs.Collection("SampleRerunValues").CountDocuments(ctx, bson.D{})
	if err != nil {
		return err
	}
	var fulfilled int
	err = l.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM labReportRelation WHERE id >= ? AND id < ? AND sampleRedrawFlag = 4", first, first+l.reports).
		Scan(&fulfilled)
	if err != nil {
		return err
	}
	if int(stored) != l.reports*parameters || fulfilled != l.reports {
		return fmt.Errorf(
			"%d of %d values are stored, %d of %d reports are fulfilled",
			stored,
			l.reports*parameters,
			fulfilled,
			l.reports,
		)
	}
	l.stored += int(stored)
	for _, name := range []string{"SampleRerunValues", "SampleRerun"} {
		if _, err := l.docs.Collection(name).DeleteMany(ctx, bson.D{}); err != nil {
			return err
		}
	}
	_, err = l.db.ExecContext(
		ctx,
		"UPDATE labReportRelation SET sampleRedrawFlag = 0 WHERE id >= ? AND id < ?",
		first,
		first+l.reports,
	)
	return err
}

// each calls do for every report of a round from several goroutines.
func (l *laboratory) each(first, workers int, do func(id int) error) error {
	var next atomic.Int64
	var group errgroup.Group
	for range workers {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= l.reports {
					return nil
				}
				if err := do(first + i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// send posts the whole blood count of a report and checks that it fulfils the request.
func (l *laboratory) send(ctx context.Context, id int) error {
	var body strings.Builder
	fmt.Fprintf(
		&body,
		`{"lab_id":%d,"sample_id":%q,"device_id":"XN-1000","device_name":"Sysmex XN-1000","rerun_type":"manual_rerun","rerun_number":1,"lab_report_id":%d,"device_data":[`,
		labID,
		sampleID,
		id,
	)
	for i := 1; i <= parameters; i++ {
		if i > 1 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"index":%d,"value":"%d.%d","parameter_name":"Parameter %d"}`, i, i, id%10, i)
	}
	body.WriteString("]}")
	text, err := l.post(ctx, id, "new", body.String())
	if err != nil {
		return err
	}
	var answer struct {
		Fulfilled bool `json:"fulfilled"`
		Flag      int  `json:"sampleRedrawFlag"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || !answer.Fulfilled || answer.Flag != 4 {
		return fmt.Errorf("report %d is not fulfilled: %.200s", id, text)
	}
	return nil
}

func (l *laboratory) post(ctx context.Context, id int, operation, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		fmt.Sprintf("%s/api-v3/sample-rerun/%d/%s", l.base, id, operation),
		strings.NewReader(body),
	)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", "sessionid=bench")
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s of report %d: %d %.200s", operation, id, response.StatusCode, text)
	}
	return text, nil
}
