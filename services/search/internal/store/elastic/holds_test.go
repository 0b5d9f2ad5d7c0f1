package elastic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"pgregory.net/rapid"

	engine "github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/testkit/property"
	"github.com/labplatform/labplatform/services/cdc/indextest"
	"github.com/labplatform/labplatform/services/search/internal/search"
	"github.com/labplatform/labplatform/services/search/internal/store/elastic"
)

// found is what the engine answers to one query.
type found struct {
	Hits struct {
		Hits []struct {
			ID     string          `json:"_id"`
			Source json.RawMessage `json:"_source"`
		}
	}
}

// ask sends queries at once.
func (i *index) ask(source bool, queries ...[]byte) []found {
	i.t.Helper()
	var body bytes.Buffer
	for _, q := range queries {
		fmt.Fprintf(&body, "{}\n{\"size\":1000,\"_source\":%t,\"query\":%s}\n", source, q)
	}
	var answer struct{ Responses []found }
	if err := i.client.Do(i.t.Context(), engine.Call{Name: "msearch", Method: http.MethodPost, Path: "/" + i.Alias() + "/_msearch", Body: body.Bytes()}, &answer); err != nil {
		i.t.Fatal(err)
	}
	return answer.Responses
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Fatalf(format string, args ...any)
}

// Why a hit was found is computed from the hit. This is the proof that it is what the engine would say: every query of every text
// finds the same documents there as here.
func TestEveryQueryFindsHereWhatTheEngineFinds(t *testing.T) {
	t.Parallel()
	i := open(t)
	all := append(crowd(), strange()...)
	i.Put(all...)
	documents := map[string]*elastic.Document{}
	for _, h := range i.ask(true, []byte(`{"term":{"is_deleted":false}}`))[0].Hits.Hits {
		d, err := elastic.ReadDocument(h.Source)
		if err != nil {
			t.Fatal(err)
		}
		documents[h.ID] = d
	}
	agree := func(t fataler, text string) {
		ways := i.store.Ways(text, search.Fields())
		var queries [][]byte
		for _, w := range ways {
			queries = append(queries, w.Query)
		}
		if len(queries) == 0 {
			return
		}
		for n, answer := range i.ask(false, queries...) {
			there := map[string]bool{}
			for _, h := range answer.Hits.Hits {
				there[h.ID] = true
			}
			for id, d := range documents {
				if here := ways[n].Holds(d); here != there[id] {
					t.Fatalf("%q: %s finds %s: here %v, there %v", text, queries[n], id, here, there[id])
				}
			}
		}
	}
	for _, row := range strange() {
		for _, text := range []string{row.FullName, row.LabPatientID, row.Email} {
			if text != "" {
				agree(t, text)
			}
		}
	}
	for _, text := range []string{"jose", "strauss", "o'brien", "d souza", "dsouza", "maria souza", "sp muthu", "1,5", "a.b", "王", "小明", "ramesh k", "rahool shrama", "muhamed", "sharmaa kumaari",
		"b/o sunita", "0012", "ord 2026 771", "e2", "x_y", "राहुल", "ØRE", "98765 rahul", "kumari r2"} {
		agree(t, text)
	}
	property.Check(t, func(rt *rapid.T) { agree(rt, texts(crowd()).Draw(rt, "text")) })
}

// strange are patients whose names and numbers hold more than letters, digits and blanks.
func strange() rows {
	names := []string{"José Ângela", "Müller-Lüdenscheid", "Strauß", "O'Brien", "D’Souza Maria", "Dsouza Maria", "S.P. Muthu", "S P Muthu", "K.J.", "王小明", "राहुल शर्मा", "தாமரை செல்வி", "Łukasz Ørsted",
		"Mohammed Yusuf", "Md. Yusuf", "Ramesh_Kumar", "1,5 Litre", "Sri: Ram", "B/O Sunita", "Jose\u0301", "ﬁne", "ÆON", "İbrahim", "Shrama Rahool", "Anne-Marie d'Arc", "x_y", "  Two  Spaces ", "Ａｂｃ"}
	var all rows
	for n, name := range names {
		all = append(all, indextest.Row{UserID: int64(5000 + n), LabID: 7, Rev: 3, FullName: name, Email: fmt.Sprintf("É%d.Üser+x@ex-ample.in", n),
			LabPatientID: []string{"ÅB-001", "P~7/é", "00-12", "a_b", "a.b-1.5", "x'y", "Ord 2026/0771"}[n%7], SampleIDs: []string{"S'1-É2", "0007"}, OrderNumbers: []string{"1.5-a.b~c_d", "ORD-2026-0771"}})
	}
	return all
}
