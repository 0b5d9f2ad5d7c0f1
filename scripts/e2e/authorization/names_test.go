package authorization

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/labplatform/labplatform/proto/openapi"
)

// nameLetters are the letters that the legend of names.txt explains.
const nameLetters = "0349.kps-"

// namesTable returns the letter of each field in names.txt.
func namesTable(t *testing.T) map[string]string {
	t.Helper()
	table := map[string]string{}
	for written := range strings.Lines(names) {
		words := strings.Fields(written)
		if len(words) == 0 || words[0] == "#" || !strings.Contains(words[0], ".") {
			continue
		}
		if len(words) != 2 || len(words[1]) != 1 || !strings.Contains(nameLetters, words[1]) {
			t.Fatalf("names.txt: %q, want a field and one letter of the legend", strings.TrimSpace(written))
		}
		if table[words[0]] != "" {
			t.Fatalf("names.txt has two lines for %s", words[0])
		}
		table[words[0]] = words[1]
	}
	return table
}

// lineOf returns the line for a field such as taskqueue.PushData.topic: its own line, or the line for fields of that
// name in all messages.
func lineOf(table map[string]string, field string) string {
	if table[field] != "" {
		return field
	}
	parts := strings.SplitN(field, ".", 3)
	return "*." + parts[2]
}

// fieldsOfRequests returns the string and number fields of all requests, such as
// taskqueue.UpdateConsentRequest.cache_key.
func fieldsOfRequests() (fields []string) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || !strings.HasPrefix(string(m.FullName()), "lab.") {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if inner := f.Message(); inner != nil {
				walk(inner)
			}
			switch f.Kind() {
			case protoreflect.BoolKind, protoreflect.EnumKind, protoreflect.DoubleKind:
				continue
			case protoreflect.MessageKind:
				if f.Message().FullName() != "lab.type.v1.RawJSON" {
					continue
				}
			}
			fields = append(fields, short(string(m.FullName()))+"."+string(f.Name()))
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				walk(methods.Get(j).Input())
			}
		}
		return true
	})
	return fields
}

// short removes the parts that all message names have.
func short(message string) string {
	return strings.Replace(strings.TrimPrefix(message, "lab."), ".v1.", ".", 1)
}

// fieldsOfTaskData returns the fields of the data of tasks. The contract has this data as JSON, so they are read from
// the API document.
func fieldsOfTaskData(t *testing.T) (fields []string) {
	t.Helper()
	type schema struct {
		Properties map[string]struct {
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"properties"`
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openapi.Document, &document); err != nil {
		t.Fatal(err)
	}
	for name, of := range document.Components.Schemas {
		if !strings.HasPrefix(name, "lab.taskqueue.") || !strings.HasSuffix(name, "Data") {
			continue
		}
		for field, property := range of.Properties {
			for inner := range property.Properties {
				fields = append(fields, short(name)+"."+field+"."+inner)
			}
			if len(property.Properties) == 0 {
				fields = append(fields, short(name)+"."+field)
			}
		}
	}
	return fields
}

// TestEveryNameHasItsLine checks that names.txt has a line for each field of the contracts and no other, and that
// attempts exist for the letters that need one.
func TestEveryNameHasItsLine(t *testing.T) {
	t.Parallel()
	table := namesTable(t)
	used := map[string]bool{}
	for _, field := range append(fieldsOfRequests(), fieldsOfTaskData(t)...) {
		line := lineOf(table, field)
		if table[line] == "" {
			t.Errorf("names.txt has no line for %s: whose is what it names?", field)
		}
		used[line] = true
	}
	for line, letter := range table {
		if !used[line] {
			t.Errorf("names.txt has a line for %s, which no contract has", line)
		}
		tried := strings.Contains("0349.k", letter)
		if _, has := attempts[line]; has != tried {
			t.Errorf("%s is %q, and has an attempt: %v; want one for each of 0, 3, 4, 9, k and .", line, letter, has)
		}
	}
	if len(used) < 100 {
		t.Errorf("%d lines are used, want those of all contracts", len(used))
	}
}

// TestNoNameReachesAnotherLaboratory sends names of laboratory 12 in every field that names something, as a login of
// laboratory 13. No attempt may succeed.
func TestNoNameReachesAnotherLaboratory(t *testing.T) {
	apply(t, owners)
	w := prepareNames(t)
	for field, letter := range namesTable(t) {
		for _, a := range attempts[field] {
			t.Run(field+a.name, func(t *testing.T) {
				if a.pipeline && !withPipeline() {
					t.Skip("needs the search index, which LAB_PIPELINE=off leaves out")
				}
				w.try(t, a, letter)
			})
		}
	}
	if status, body := w.send(t, post(rerun+"{n}/abort", "")); status != http.StatusOK { // restores state for other tests
		t.Errorf("abort the rerun: %d %s", status, body)
	}
}

// try sends an attempt and checks the status, the response and the state of laboratory 12.
func (w *namesWorld) try(t *testing.T, a attempt, letter string) {
	t.Helper()
	before := w.state(t, a)
	status, body := w.send(t, a)
	want := map[string]int{"0": 400, "3": 403, "4": 404, "9": 409}[letter]
	if want == 0 {
		want = 200
	}
	if status != want {
		t.Errorf("%s %s as %s: %d %.300s, want %d", a.method, w.fill(a.path), a.sender(), status, body, want)
	}
	for _, word := range []string{owners[0].word, owners[1].word} {
		if strings.Contains(body, word) {
			t.Errorf("the answer shows %s: %.300s", word, body)
		}
	}
	if after := w.state(t, a); after != before {
		t.Errorf("laboratory 12 has %s, want it as before: %s", after, before)
	}
	if a.check != nil {
		if problem := a.check(t, w, body); problem != "" {
			t.Error(problem)
		}
	}
}

// fill replaces {their x} by laboratory 12's x, and other names in braces by laboratory 13's.
func (w *namesWorld) fill(text string) string {
	for _, part := range strings.SplitAfter(text, "}") {
		if _, name, found := strings.Cut(part, "{their "); found {
			value, own := w.theirs[strings.TrimSuffix(name, "}")]
			if !own {
				value = owners[0].fill("{" + name)
			}
			text = strings.ReplaceAll(text, "{their "+name, value)
		}
	}
	return owners[2].fill(text)
}

func (a attempt) sender() string {
	if a.as != "" {
		return a.as
	}
	return "l2"
}
