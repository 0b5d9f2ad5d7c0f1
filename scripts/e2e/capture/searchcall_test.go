package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/testkit/await"
	fixtures "github.com/labplatform/labplatform/scripts/devstack/seed"
)

const (
	searchPath = "/api/v1/users/search"
	// searchPrefix is a path prefix that a proxy in front of the service's own port may keep; paths without it work, too.
	searchPrefix = "/search-service"
)

// listeners returns the two listeners that serve searches.
func listeners() map[string]string {
	return map[string]string{"gateway": platform.Endpoints.Gateway, "search": platform.Endpoints.Search}
}

// credential is a header that authenticates a request.
type credential struct{ name, value string }

// token returns a bearer token as phones have it. identity has the fields of a session.
func token(t *testing.T, identity map[string]any) credential {
	t.Helper()
	claims := jwt.MapClaims{"session_type": "lab_user", "lab_user_id": 77, "username": "search-test", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for field, value := range identity {
		claims[field] = value
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(platform.Endpoints.JWTSecrets.Mobile))
	if err != nil {
		t.Fatal(err)
	}
	return credential{"Authorization", "Bearer " + text}
}

// user returns a token of a user of the laboratory.
func user(t *testing.T, lab, id int64) credential {
	t.Helper()
	return token(t, map[string]any{"lab_id": lab, "lab_user_id": id})
}

// cookie returns the cookie of a new session.
func cookie(t *testing.T, lab, id int64) credential {
	t.Helper()
	session := fmt.Sprintf("search-%d-%d", lab, id)
	store(t, fmt.Sprintf(`{"sessions":[{"id":%q,"session_type":"lab_user","lab_id":%d,"lab_user_id":%d}]}`, session, lab, id))
	return credential{"Cookie", "sessionid=" + session}
}

// store writes a fixture, also during the cleanup of a test.
func store(t *testing.T, fixture string) {
	t.Helper()
	parsed, err := fixtures.Parse([]byte(fixture), platform.Dir)
	if err != nil {
		t.Fatal(err)
	}
	target, err := fixtures.Stack(platform.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Apply(context.WithoutCancel(t.Context()), parsed); err != nil {
		t.Fatal(err)
	}
}

// answer is a REST response.
type answer struct {
	status int
	header http.Header
	body   string
}

func (c credential) send(t *testing.T, method, address, body string, more ...credential) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for _, one := range append(more, c) {
		if one.name != "" {
			request.Header.Set(one.name, one.value)
		}
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// found is the response to a search.
type found struct {
	Total         int64
	TotalRelation string `json:"total_relation"`
	Degraded      bool
	SearchKey     string `json:"search_key"`
	Buckets       map[string]int64
	Results       []struct {
		UserID    int64    `json:"user_id"`
		LabID     int64    `json:"lab_id"`
		FullName  string   `json:"full_name"`
		SampleIDs []string `json:"sample_ids"`
		Bucket    string
		Matched   []string `json:"matched_fields"`
	}
}

// search sends a search to one listener. Any status other than 200 is an error.
func (c credential) search(t *testing.T, listener, body string) (found, error) {
	t.Helper()
	got := c.send(t, http.MethodPost, listener+searchPath, body)
	var f found
	if got.status != http.StatusOK {
		return f, fmt.Errorf("%d %s", got.status, got.body)
	}
	return f, json.Unmarshal([]byte(got.body), &f)
}

// sees waits until a search for the text finds exactly these patients, at both listeners.
func (c credential) sees(t *testing.T, text string, want ...int64) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	defer func() {
		if took := time.Since(begin); took > time.Second {
			t.Logf("%q finds %v after %v", text, want, took.Round(time.Millisecond))
		}
	}()
	for name, listener := range listeners() {
		await.Nil(t, fmt.Sprintf("%q at the %s finding %v", text, name, want), func() error {
			f, err := c.search(t, listener, string(body))
			if err != nil {
				return err
			}
			var got []int64
			for _, r := range f.Results {
				got = append(got, r.UserID)
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("it finds %v", got)
			}
			return nil
		})
	}
}

func (c credential) detail(t *testing.T, listener string, id int64) answer {
	t.Helper()
	return c.send(t, http.MethodGet, fmt.Sprintf("%s/api/v1/users/%d", listener, id), "")
}

// refusal checks an error body: the HTTP status, a sentence, details, and no internal text.
func refusal(t *testing.T, what string, got answer, status int, details string) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != status || body["code"] != float64(status) || body["message"] == nil || body["details"] == nil {
		t.Errorf("%s: %d %s", what, got.status, got.body)
		return
	}
	message, isText := body["message"].(string)
	said, isText2 := body["details"].(string)
	if !isText || !isText2 || message == "" || !strings.Contains(message+" "+said, details) {
		t.Errorf("%s: want something of %q in %s", what, details, got.body)
	}
	if !strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
		t.Errorf("%s: content type %s", what, got.header.Get("Content-Type"))
	}
	for _, leak := range []string{"goroutine", "strconv", "rpc error", "sql:", "dial tcp", "127.0.0.1", "exception"} {
		if strings.Contains(got.body, leak) {
			t.Errorf("%s: %q in %s", what, leak, got.body)
		}
	}
}
