package elastic_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

// BenchmarkSearch measures a search without a real engine: the request, the client, the response with its reasons, and
// the test server.
func BenchmarkSearch(b *testing.B) {
	var hits []string
	for n := range 10 {
		source, _ := json.Marshal(map[string]any{"user_id": n, "lab_id": 7, "full_name": "Rahul Anil Sharma", "contact": "919876543210", "lab_patient_id": fmt.Sprint("P-", n), "email": "rahul.sharma@example.in",
			"order_numbers": []string{"ORD-2026-1", "ORD-2026-2"}, "bill_ids": []int64{9001, 9002}, "lab_report_ids": []int64{1, 2, 3}, "sample_ids": []string{"S-1/1", "S-1/2", "S-1/3"}, "date_of_birth": "1990-02-11"})
		hits = append(hits, fmt.Sprintf(`{"_index":"user_details_v1","_score":1e8,"fields":{"card":["%s"]},"sort":[1e8,%d]}`, base64.StdEncoding.EncodeToString(source), n))
	}
	body := `{"took":3,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"total":{"value":12,"relation":"eq"},"max_score":1e8,"hits":[` + strings.Join(hits, ",") + `]}}`
	store := scripted(b, func(w http.ResponseWriter, r *http.Request) { answers(200, body)(w, r) })
	for _, text := range []string{"rahul sharma", "9876543210"} {
		q := query(b, text, search.All)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r, err := store.Search(b.Context(), lab(b, 7), q, search.Full); err != nil || len(r.Hits) != 10 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRequest measures the creation of a request without sending it.
func BenchmarkRequest(b *testing.B) {
	store := scripted(b, func(http.ResponseWriter, *http.Request) {})
	for _, text := range []string{"rahul", "rahul sharma", "9876543210", "ORD-2026-0771"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(store.Request(text)) == 0 {
					b.Fatal("no request")
				}
			}
		})
	}
}
