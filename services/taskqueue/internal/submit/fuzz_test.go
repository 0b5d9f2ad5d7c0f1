package submit_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// FuzzAUsersTaskIsBoundedAndLeadsOutside checks that a user's task is JSON of limited size without an address of the
// platform, whatever the user sends. The targets in this test accept any text that is not a URL.
func FuzzAUsersTaskIsBoundedAndLeadsOutside(f *testing.F) {
	f.Add(4, 2, []byte(`{"url":"https://a.example/","args":{"n":1},"isBody":1}`), "https://a.example/done")
	f.Add(4, 1, []byte(`{"url":"http://gateway:8091/x"}`), "")
	f.Add(1, 4, []byte(`{"contact":"09812345678","countryCode":"+91","message":"hi"}`), "")
	f.Add(2, 5, []byte(`{"to":["a@b.example"],"is_template":1,"template":"<p>"}`), "http://GATEWAY:8091")
	f.Add(6, 1, []byte(`{"contact":9812345678,"template":"welcome","countryCode":null}`), "//gateway:8091/")
	f.Fuzz(func(t *testing.T, number, kind int, data []byte, subscribe string) {
		p, fields := check(0, task.Submission{Due: never, Task: number, Type: kind,
			Data: data, Subscribe: subscribe})
		if len(fields) > 0 {
			return
		}
		if !json.Valid(p.Body.Data) || len(data) > 64<<10 {
			t.Errorf("accepted %d bytes, stored %q", len(data), p.Body.Data)
		}
		var hook struct {
			URL string `json:"url"`
		}
		_ = json.Unmarshal(p.Body.Data, &hook) // other tasks have no URL
		for _, raw := range []string{hook.URL, subscribe} {
			if u, err := url.Parse(raw); err == nil && (targets{}).IsInternal(u) {
				t.Errorf("accepted the address %q", raw)
			}
		}
	})
}
