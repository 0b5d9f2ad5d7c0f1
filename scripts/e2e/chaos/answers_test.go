package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestAnOperationThatIsAlwaysRefusedIsAViolation: the people send a wrong request, so that nothing that follows from it
// is tested. A refusal beside successes is none.
func TestAnOperationThatIsAlwaysRefusedIsAViolation(t *testing.T) {
	t.Parallel()
	accepts := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/saves/7" || !accepts {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	a, err := newAnswers(func() []fault { return nil })
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: a}
	for range 2 {
		for _, path := range []string{"/saves/7", "/splits/7"} {
			response, err := client.Post(server.URL+path, "text/plain", nil)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		accepts = true
	}
	if got, want := a.neverAccepted(), []string{"POST /saves/{id} was refused 2 times and never succeeded"}; !slices.Equal(got, want) {
		t.Errorf("violations %q, want %q", got, want)
	}
}
