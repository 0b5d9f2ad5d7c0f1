package envelope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
	"github.com/labplatform/labplatform/services/cdc/internal/envelope"
)

func record(table, value string) change.Record {
	return change.Record{Topic: "lab.lab." + table, Key: []byte(`{"id":1}`), Value: []byte(value)}
}

func TestAMessageIsDecoded(t *testing.T) {
	t.Parallel()
	row := `{"id":1,"labId_id":12}`
	for name, c := range map[string]struct {
		value string
		want  change.Change
	}{
		"a bare one": {
			`{"before":null,"after":` + row + `,"source":{"ts_ms":5,"snapshot":"false","file":"b.1","pos":7,"gtid":null},"op":"c"}`,
			change.Change{Op: change.Create, After: []byte(row), Source: change.Source{TsMs: 5, Snapshot: "false", File: "b.1", Pos: 7}},
		},
		"a wrapped one": {
			`{"schema":{"type":"struct","fields":[]},"payload":{"before":` + row + `,"after":` + row + `,"op":"u"}}`,
			change.Change{Op: change.Update, Before: []byte(row), After: []byte(row)},
		},
		"before absent, source absent":     {`{"after":` + row + `,"op":"r"}`, change.Change{Op: change.Read, After: []byte(row)}},
		"source null":                      {`{"after":` + row + `,"source":null,"op":"r"}`, change.Change{Op: change.Read, After: []byte(row)}},
		"members of the source null":       {`{"after":` + row + `,"source":{"file":null,"snapshot":null},"op":"r"}`, change.Change{Op: change.Read, After: []byte(row)}},
		"a delete":                         {`{"before":` + row + `,"after":null,"op":"d"}`, change.Change{Op: change.Delete, Before: []byte(row)}},
		"a delete without before":          {`{"before":null,"after":null,"op":"d"}`, change.Change{Op: change.Delete}},
		"a truncate":                       {`{"source":{"ts_ms":5},"op":"t"}`, change.Change{Op: change.Truncate, Source: change.Source{TsMs: 5}}},
		"a message":                        {`{"op":"m","message":{"prefix":"x","content":"AA=="}}`, change.Change{Op: change.Message}},
		"an operation that no one knows":   {`{"op":"zz"}`, change.Change{Op: "zz"}},
		"the text null":                    {`null`, change.Change{Tombstone: true}},
		"a tombstone":                      {``, change.Change{Tombstone: true}},
		"a wrapped tombstone":              {`{"schema":null,"payload":null}`, change.Change{Tombstone: true}},
		"members that no one knows":        {`{"op":"c","after":` + row + `,"transaction":{"id":"x"},"new":[1]}`, change.Change{Op: change.Create, After: []byte(row)}},
		"a column that is called op":       {`{"op":"c","after":{"op":"d","payload":1}}`, change.Change{Op: change.Create, After: []byte(`{"op":"d","payload":1}`)}},
		"white space and another order":    {"\n{ \"op\" : \"c\",\t\"after\" : " + row + " }\r\n", change.Change{Op: change.Create, After: []byte(row)}},
		"escapes beyond the basic plane":   {`{"op":"c","after":{"n":"\uD83D\uDE00"}}`, change.Change{Op: change.Create, After: []byte(`{"n":"\uD83D\uDE00"}`)}},
		"a number beyond a float's digits": {`{"op":"c","after":{"n":9223372036854775807}}`, change.Change{Op: change.Create, After: []byte(`{"n":9223372036854775807}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.Table = change.UserDetails
			got, err := envelope.Decode(record(change.UserDetails, c.value))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestAMalformedMessageIsToldWithoutItsValues(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"no JSON":                       `Asha`,
		"cut off":                       `{"op":"c","after":{"name":"Asha`,
		"text behind":                   `{"op":"c","after":{"name":"Asha"}} Asha`,
		"a list":                        `["Asha"]`,
		"a string":                      `"Asha"`,
		"no op":                         `{"after":{"name":"Asha"}}`,
		"an empty op":                   `{"op":"","after":{"name":"Asha"}}`,
		"op is a number":                `{"op":1,"after":{"name":"Asha"}}`,
		"op is null":                    `{"op":null,"after":{"name":"Asha"}}`,
		"after is a string":             `{"op":"c","after":"Asha"}`,
		"before is a list":              `{"op":"u","before":["Asha"],"after":{}}`,
		"a create without after":        `{"op":"c","before":{"name":"Asha"},"after":null}`,
		"source is a string":            `{"op":"c","after":{},"source":"Asha"}`,
		"the source's time is a string": `{"op":"c","after":{},"source":{"ts_ms":"Asha"}}`,
		"a wrapped string":              `{"schema":null,"payload":"Asha"}`,
		"wrapped twice":                 `{"payload":{"payload":{"op":"c","after":{}}}}`,
		"invalid UTF-8":                 "{\"op\":\"c\",\"after\":{\"name\":\"Asha\xff\"}}",
		"half a surrogate pair":         `{"op":"c","after":{"name":"Asha\uD83D"}}`,
		"a member twice":                `{"op":"c","op":"d","after":{"name":"Asha"}}`,
		"a column twice":                `{"op":"c","after":{"Asha":1,"Asha":2}}`,
		"nested without end":            `{"op":"c","after":` + strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := envelope.Decode(record(change.UserDetails, value))
			var m *envelope.Malformed
			if !errors.As(err, &m) {
				t.Fatalf("got %v, want *Malformed", err)
			}
			if strings.Contains(err.Error(), "Asha") {
				t.Fatalf("the error quotes the row: %v", err)
			}
		})
	}
}

func TestADocumentOfAMebibyteIsDecoded(t *testing.T) {
	t.Parallel()
	value := `{"op":"c","after":{"id":1,"userDetailsId_id":2,"labId_id":3,"comments":"` + strings.Repeat("é", 1<<19) + `"}}`
	c, err := envelope.Decode(record(change.LabReportRelation, value))
	if err != nil {
		t.Fatal(err)
	}
	got, err := envelope.Source(c.Table, c.After)
	if diff := cmp.Diff(envelope.Image{RowID: 1, UserID: 2, LabID: 3}, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
}
