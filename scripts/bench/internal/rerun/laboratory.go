package rerun

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/labplatform/labplatform/scripts/bench/internal/load"
	"github.com/labplatform/labplatform/scripts/bench/internal/testlab"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// Ids of the seeded laboratory, outside the range of the demo's.
const (
	labID    = 900
	testID   = 900
	firstID  = 9_000_000
	sampleID = "BENCH"
)

// laboratory holds a laboratory with a test of 30 parameters and with reports for reruns.
type laboratory struct {
	*testlab.Lab
	mongo   *mongo.Client
	docs    *mongo.Database
	reports int // reports of a round
	next    int // the first report of the next round
	stored  int // number of values counted in the document store so far
}

func newLaboratory(ctx context.Context, s *sandbox.Sandbox, reports int) (*laboratory, error) {
	lab, err := testlab.Open(s.Dir, s.Endpoints.Gateway)
	if err != nil {
		return nil, err
	}
	l := &laboratory{Lab: lab, reports: reports, next: firstID}
	if l.mongo, err = mongo.Connect(options.Client().ApplyURI(s.Endpoints.MongoURI)); err != nil {
		return nil, err
	}
	l.docs = l.mongo.Database(s.Endpoints.MongoDatabase)
	return l, l.Apply(ctx, test())
}

func (l *laboratory) close() {
	l.Close()
	_ = l.mongo.Disconnect(context.Background())
}

// test returns the fixture of the laboratory, its session and its test.
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
		"sessions": []any{testlab.User("bench", labID)},
	}
}

// round adds reports, requests a rerun of each, measures the duration of send, counts the stored values and deletes
// them. A laboratory never has more open reruns than those of one round.
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
	if err := l.Apply(ctx, map[string]any{"mysql": map[string]any{"labReportRelation": rows}}); err != nil {
		return err
	}
	var indices []string
	for i := 1; i <= parameters; i++ {
		indices = append(indices, strconv.Itoa(i))
	}
	body := `{"type":"Manual","requested_parameters":"[` + strings.Join(indices, ", ") + `]","is_active":true}`
	return load.Each(l.reports, 4, func(i int) error {
		_, err := l.post(ctx, first+i, "request", body)
		return err
	})
}

// settle is the correctness gate: every value is stored and every rerun fulfilled.
func (l *laboratory) settle(ctx context.Context, first int) error {
	stored, err := l.docs.Collection("SampleRerunValues").CountDocuments(ctx, bson.D{})
	if err != nil {
		return err
	}
	var fulfilled int
	err = l.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM labReportRelation WHERE id >= ? AND id < ? AND sampleRedrawFlag = 4", first, first+l.reports).
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
	_, err = l.DB.ExecContext(
		ctx,
		"UPDATE labReportRelation SET sampleRedrawFlag = 0 WHERE id >= ? AND id < ?",
		first,
		first+l.reports,
	)
	return err
}

// send posts the whole blood count of a report and checks that it fulfils the rerun.
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
	path := fmt.Sprintf("/api-v3/sample-rerun/%d/%s", id, operation)
	return l.Call(ctx, testlab.Request{Session: "bench", Method: http.MethodPost, Path: path, Body: body})
}
