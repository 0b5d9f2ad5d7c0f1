package capture

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// canaries maps columns to marked values of a patient, each of which occurs nowhere else.
var canaries = map[string]string{
	"fullName": "Zyxwanda Quillfeather", "contact": "9870654321", "email": "zyx.quill@canary.invalid", "passportNo": "ZQPASS7654",
	"nationalIdentityNumber": "ZQNID-5544-3322", "labPatientId": "ZQLPID-99",
}

const (
	canaryOrder  = "ZQORDER-77001"
	canarySample = "ZQSAMPLE-88002"
)

// TestNothingAboutPatientsIsInLogsMetricsAndWhatVerbsSay sends marked values through every path on which an engine or a
// decoder reports an invalid value, and searches logs, metrics and outputs for them: malformed events, a column that
// refuses a value, a mapping that refuses one.
func TestNothingAboutPatientsIsInLogsMetricsAndWhatVerbsSay(t *testing.T) {
	db := database(t)
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	await.Nil(t, "readiness of the consumer", func() error { _, err := fetch(http.MethodGet, cdc.http+"/ready", ""); return err })
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := db.Exec(text, args...); err != nil {
			t.Fatal(err)
		}
	}
	row := func(id int64) {
		exec("INSERT INTO userDetails (id, labId_id, fullName, contact, email, passportNo, nationalIdentityNumber, labPatientId) VALUES (?, 12, ?, ?, ?, ?, ?, ?)",
			id, canaries["fullName"], canaries["contact"], canaries["email"], canaries["passportNo"], canaries["nationalIdentityNumber"], canaries["labPatientId"])
	}
	row(930001)
	exec("INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, orderNumber) VALUES (9300010, 12, 9300010, 930001, ?)", canaryOrder)
	exec("INSERT INTO labReportRelation (id, labId_id, userDetailsId_id, billId_id, reportID_id, sampleId) VALUES (93000100, 12, 930001, 9300010, 1, ?)", canarySample)
	await.Nil(t, "the document of the marked patient", func() error {
		text, err := fetch(http.MethodGet, platform.Endpoints.Elasticsearch+"/user_details/_doc/930001?routing=12", "")
		if err != nil {
			return err
		}
		for _, part := range []string{canarySample, canaries["fullName"]} {
			if !strings.Contains(string(text), part) {
				return fmt.Errorf("no %s in it", part)
			}
		}
		return nil
	})

	p := &producer{t: t, SyncProducer: newProducer(t)}
	name, key := canaries["fullName"], `{"id":930002}`
	p.send("userDetails", key, `{"op":"u","after":{"id":930002,"fullName":"`+name)
	p.send("userDetails", name, `{"op":"u","after":{"id":"`+name+`","labId_id":12}}`)
	p.send("billing", key, `{"op":"`+name+`","after":`+`"`+canaryOrder+`"}`) // an unknown operation is skipped
	p.send("billing", key, `{"op":"c","after":{"id":1,"userDetailsId_id":"`+canaryOrder+`"}}`)
	p.send("user_meta", `{"user_id":930002}`, `{"op":"c","after":{"user_id":930002,"lab_id":12,"rev":5,"is_deleted":0,"date_of_birth":"`+name+`"}}`)
	p.send("user_meta", `{"user_id":930003}`, `{"op":"c","after":{"user_id":930003,"lab_id":12,"rev":5,"is_deleted":0,"full_name":"`+name+`","order_numbers":"[\"`+
		strings.Repeat(canaryOrder, 4000)+`\"]"}}`)
	exec("ALTER TABLE user_meta ADD CONSTRAINT short CHECK (user_id <> 930004 OR LENGTH(contact) < 4)")
	repair := sync.OnceFunc(func() { exec("ALTER TABLE user_meta DROP CONSTRAINT short") })
	t.Cleanup(repair) // also if the test fails before
	row(930004)
	log := filepath.Join(platform.Dir, "logs", "cdc.log")
	await.Nil(t, "a letter from the decoder, the database and the index", func() error {
		text, err := os.ReadFile(log)
		if err != nil {
			return err
		}
		var missing []string
		for _, sink := range []string{"decode", "sql", "index"} {
			if !strings.Contains(string(text), `"sink":"`+sink+`"`) {
				missing = append(missing, sink)
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("nothing given up by %v", missing)
		}
		return nil
	})
	said := map[string]string{}
	for _, args := range []string{"replay-dlq", "replay-dlq --dry-run", "reconcile --lab 12 --repair", "connectors status"} {
		out, err := verb(t, strings.Fields(args)...)
		said["cdc "+args] = fmt.Sprint(out, err)
	}
	for _, path := range []string{"/health", "/ready", "/metrics"} {
		text, err := fetch(http.MethodGet, cdc.http+path, "")
		said[path] = fmt.Sprint(string(text), err)
	}
	logs, err := filepath.Glob(log + "*")
	if err != nil || len(logs) == 0 {
		t.Fatal("no log of cdc:", err)
	}
	for _, file := range logs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said[filepath.Base(file)] = string(text)
	}
	for where, text := range said {
		for _, canary := range append([]string{canaryOrder, canarySample, "Zyxwanda", "Quillfeather"}, values(canaries)...) {
			if at := strings.Index(text, canary); at >= 0 {
				t.Errorf("%s says %q: …%s…", where, canary, text[max(0, at-200):min(len(text), at+100)])
			}
		}
	}
	repair()
	if out, err := verb(t, "replay-dlq"); err != nil {
		t.Errorf("the letters cannot be answered after the fix: %v\n%s", err, out)
	}
	if out, err := verb(t, "reconcile", "--repair", "--wait", "1m"); err != nil {
		t.Errorf("reconcile: %v\n%s", err, out)
	}
}

func values(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
