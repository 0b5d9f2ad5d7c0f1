package traceviewer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/scripts/devstack/internal/traceviewer"
	"github.com/labplatform/labplatform/scripts/devstack/tracing"
)

func TestThePageShowsTracesAndTheirTrees(t *testing.T) {
	t.Parallel()
	rerun := map[string]string{"service.name": "rerun"}
	handler := traceviewer.Handler(func() []tracing.Span {
		return []tracing.Span{
			{Trace: "aa", ID: "2", Parent: "1", Name: "INSERT <b>", Begin: 2e9, End: 3e9, Resource: rerun},
			{Trace: "aa", ID: "1", Parent: "of-a-caller", Name: "POST /auto", Begin: 1e9, End: 4e9, Resource: rerun},
			{Trace: "bb", ID: "3", Name: "later", Begin: 5e9, End: 6e9, Links: []tracing.Link{{Trace: "aa", ID: "1"}}, Resource: rerun},
		}
	})
	for path, want := range map[string][]string{
		"/":   {`<a href="/bb">later</a>`, `<a href="/aa">POST /auto</a>`, "<td>3s</td><td>2</td><td>rerun</td>"},
		"/aa": {"rerun          POST /auto  3s\n  rerun          INSERT &lt;b&gt;  1s\n"},
		"/bb": {`<a href="/aa">what led to it</a>`},
		"/cc": {"No spans of this trace have come yet"},
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		for _, text := range want {
			if !strings.Contains(answer.Body.String(), text) {
				t.Errorf("%s lacks %q:\n%s", path, text, answer.Body)
			}
		}
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	if text := answer.Body.String(); strings.Index(text, "later") > strings.Index(text, "POST /auto") {
		t.Error("the newest trace is not the first")
	}
}
