package push_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/push"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/worker"
)

const jobID = job.ID("00601KABCDEFGHJKMNPQRSTVWXYZ0")

// moving is a clock set by the test.
type moving struct {
	mu  sync.Mutex
	now time.Time
}

func (m *moving) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *moving) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

type reply struct {
	status int
	body   string
	after  string
}

// google is a fake of FCM and its token endpoint.
type google struct {
	*httptest.Server
	key   *rsa.PrivateKey
	clock *moving

	mu      sync.Mutex
	grants  int
	refuse  bool             // reject requests for access tokens
	says    map[string]reply // responses by token; missing: success
	bodies  []string
	targets []string
	log     bytes.Buffer
}

func serve(t *testing.T) *google {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &google{key: key, says: map[string]reply{}, clock: &moving{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", g.grant)
	mux.HandleFunc("POST /v1/projects/lab-app/messages:send", g.send)
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func (g *google) grant(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var claims jwt.MapClaims
	_, err := jwt.ParseWithClaims(r.FormValue("assertion"), &claims, func(*jwt.Token) (any, error) { return &g.key.PublicKey, nil },
		jwt.WithTimeFunc(g.clock.Now), jwt.WithAudience(g.URL+"/token"), jwt.WithIssuer("push@lab.example"), jwt.WithExpirationRequired())
	if err != nil || g.refuse || claims["scope"] != "https://www.googleapis.com/auth/firebase.messaging" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	g.grants++
	_, _ = fmt.Fprintf(w, `{"access_token":"at-%d","expires_in":3600}`, g.grants)
}

func (g *google) send(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body struct {
		Message struct{ Token, Topic string }
	}
	if json.Unmarshal(raw, &body) != nil || r.Header.Get("Authorization") != fmt.Sprintf("Bearer at-%d", g.grants) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	target := body.Message.Token + body.Message.Topic
	g.bodies, g.targets = append(g.bodies, string(raw)), append(g.targets, target)
	if say, ok := g.says[target]; ok {
		w.Header().Set("Retry-After", say.after)
		w.WriteHeader(say.status)
		_, _ = io.WriteString(w, say.body)
		return
	}
	_, _ = io.WriteString(w, `{"name":"projects/lab-app/messages/id-`+target+`"}`)
}

func (g *google) say(token string, r reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.status == 0 {
		delete(g.says, token)
		return
	}
	g.says[token] = r
}

// took returns the tokens that received requests since the last call.
func (g *google) took() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.targets
	g.targets = nil
	slices.Sort(list)
	return list
}

func (g *google) provider(t *testing.T) *push.Provider {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(g.key)
	if err != nil {
		t.Fatal(err)
	}
	key, err := json.Marshal(map[string]string{"type": "service_account", "project_id": "lab-app", "private_key_id": "k1", "client_email": "push@lab.example",
		"token_uri": g.URL + "/token", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))})
	if err != nil {
		t.Fatal(err)
	}
	client := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}})
	t.Cleanup(client.Close)
	p, err := push.New([]byte(`{"kind":"fcm","key_secret":"key","base_url":"`+g.URL+`"}`), provider.Deps{API: client, Clock: g.clock,
		Secrets: provider.Directory{Root: fstest.MapFS{"key": {Data: key}}}, Log: slog.New(slog.NewTextHandler(&g.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func body(data string) *job.Body { return &job.Body{Task: 3, TaskType: 1, Data: []byte(data)} }

// fcm returns an FCM error response.
func fcm(status int, code, field, after string) reply {
	return reply{status: status, after: after, body: fmt.Sprintf(`{"error":{"code":%d,"status":"X","details":[
		{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":%q}]},
		{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":%q}]}}`, status, field, code)}
}

func TestTheMessageHasEveryDocumentedMember(t *testing.T) {
	t.Parallel()
	g := serve(t)
	data := `{"tokens":["t1"],"title":"T","body":"B","data":{"k":"v"},"image":"https://x/i.png","click_action":"OPEN","priority":"high","ttl":60,"collapse_key":"c"}`
	result, err := g.provider(t).Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(data)})
	if err != nil || result.MessageID != "id-t1" || !result.Sent || result.Excerpt != "" {
		t.Fatalf("%+v, %v", result, err)
	}
	want := `{"message":{"token":"t1","notification":{"title":"T","body":"B","image":"https://x/i.png"},"data":{"k":"v"},"android":{"priority":"high","ttl":"60s","collapse_key":"c","notification":{"click_action":"OPEN"}}}}`
	if g.bodies[0] != want {
		t.Errorf("got  %s\nwant %s", g.bodies[0], want)
	}
}

func TestATopicIsOneMessage(t *testing.T) {
	t.Parallel()
	g := serve(t)
	result, err := g.provider(t).Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"topic":"/topics/news","title":"T"}`)})
	if err != nil || result.MessageID != "id-news" || g.bodies[0] != `{"message":{"topic":"news","notification":{"title":"T"}}}` {
		t.Errorf("%+v, %v, %s", result, err, g.bodies)
	}
}

func TestAnswersForOneTokenHaveTheirClass(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := g.provider(t)
	for _, c := range []struct {
		name  string
		reply reply
		want  string
		wait  time.Duration
	}{
		{"unregistered", fcm(404, "UNREGISTERED", "", ""), "permanent", 0},
		{"malformed token", fcm(400, "INVALID_ARGUMENT", "message.token", ""), "permanent", 0},
		{"malformed message", fcm(400, "INVALID_ARGUMENT", "message.data", ""), "permanent", 0},
		{"token of another project", fcm(403, "SENDER_ID_MISMATCH", "", ""), "permanent", 0},
		{"quota", fcm(429, "QUOTA_EXCEEDED", "", "30"), "postponed", 30 * time.Second},
		{"unavailable", fcm(503, "UNAVAILABLE", "", "Fri, 20 Nov 2026 12:01:00 GMT"), "retry", time.Minute},
		{"internal", fcm(500, "INTERNAL", "", ""), "retry", 0},
		{"gateway", reply{status: 502, body: "<html>"}, "retry", 0},
		{"certificate of the platform", fcm(401, "THIRD_PARTY_AUTH_ERROR", "", ""), "elsewhere", 0},
		{"no permission", reply{status: 403, body: `{"error":{"status":"PERMISSION_DENIED"}}`}, "elsewhere", 0},
		{"no such project", reply{status: 404, body: `{"error":{"status":"NOT_FOUND"}}`}, "elsewhere", 0},
	} {
		g.say("t1", c.reply)
		result, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"tokens":["t1"],"title":"T"}`)})
		if f := job.AsFailure(err); provider.Outcome(err) != c.want || f.RetryAfter != c.wait || result.Sent || result.HTTPStatus != c.reply.status {
			t.Errorf("%s: %s, wait %s (%v), %+v", c.name, provider.Outcome(err), f.RetryAfter, err, result)
		}
		if strings.Contains(err.Error(), "t1") {
			t.Errorf("%s: the error names the token", c.name)
		}
	}
}

func TestARetrySendsOnlyToTheTokensWithoutAFate(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := g.provider(t)
	g.say("dead-token", fcm(404, "UNREGISTERED", "", ""))
	g.say("slow", fcm(503, "UNAVAILABLE", "", "9"))
	b := body(`{"tokens":["a","a","dead-token","slow","b","a"],"title":"T","callback_url":"https://x.test/"}`)
	result, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: b})
	if f := job.AsFailure(err); provider.Outcome(err) != "retry" || f.RetryAfter != 9*time.Second || !result.Sent {
		t.Fatalf("%s %v %+v", provider.Outcome(err), err, result)
	}
	if want := `{"sent":2,"left":1,"dead":1,"dead_at":[2],"dead_tokens":["dead-token"],"dead_complete":true}`; result.Excerpt != want {
		t.Errorf("excerpt %s", result.Excerpt)
	}
	if diff := cmp.Diff([]string{"a", "b", "dead-token", "slow"}, g.took()); diff != "" {
		t.Error(diff)
	}
	b.Progress = result.Progress // stored for the retry, as by the worker
	g.say("slow", reply{})
	result, err = p.Handle(t.Context(), worker.Delivery{ID: jobID, Attempt: 2, Body: b})
	if err != nil || !cmp.Equal([]string{"slow"}, g.took()) {
		t.Fatalf("%v", err)
	}
	if want := `{"sent":3,"dead":1,"dead_at":[2],"dead_tokens":["dead-token"],"dead_complete":true}`; result.Excerpt != want {
		t.Errorf("excerpt %s", result.Excerpt)
	}
	if log := g.log.String(); !strings.Contains(log, provider.Hash("dead-token")) || strings.Contains(log, "dead-token") {
		t.Errorf("log: %s", log)
	}
}

// TestAWrongCertificateOfOnePlatformKeepsThePushFromNoOtherDevice: Apple's certificate of the project has expired. A
// push to a telephone of that platform and to many others must reach the others. The failure must not pause the
// provider, which also sends the critical results of all laboratories, and the access token stays valid. Once the
// certificate is renewed, a retry sends to the one telephone.
func TestAWrongCertificateOfOnePlatformKeepsThePushFromNoOtherDevice(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := g.provider(t)
	g.say("00-apple", fcm(401, "THIRD_PARTY_AUTH_ERROR", "", ""))
	tokens := []string{"00-apple"}
	for i := range 60 {
		tokens = append(tokens, fmt.Sprintf("%02d-other", i+1))
	}
	g.say("60-other", fcm(503, "UNAVAILABLE", "", ""))
	raw, err := json.Marshal(map[string]any{"tokens": tokens, "title": "T"})
	if err != nil {
		t.Fatal(err)
	}
	b := body(string(raw))
	attempt := func() (job.Result, error) {
		result, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: b})
		b.Progress = result.Progress
		return result, err
	}
	if result, err := attempt(); provider.Outcome(err) != "retry" || !cmp.Equal(tokens, g.took()) {
		t.Fatalf("%+v, %v; want every device asked, and a retry for the one that is unavailable", result, err)
	}
	g.say("60-other", reply{})
	result, err := attempt()
	if diff := cmp.Diff([]string{"00-apple", "60-other"}, g.took()); diff != "" {
		t.Error(diff)
	}
	if f := job.AsFailure(err); !f.Elsewhere || !f.OfMessage || f.Reason != "push_credentials" || result.Excerpt != `{"sent":60,"left":1}` {
		t.Errorf("%+v, %s; want a failure that is not the provider's, with one device left", f, result.Excerpt)
	}
	g.say("00-apple", reply{})
	if result, err := attempt(); err != nil || result.Excerpt != `{"sent":61}` || g.grants != 1 {
		t.Errorf("%+v, %v, %d access tokens; want all sent with the first one", result, err, g.grants)
	}
}

// TestTheLimitOfADeviceOrTopicDelaysNoOtherPush: a device or topic has got too many messages. The provider must not be
// paused for the critical results of all laboratories. The other devices of the push get it at once. A limit of the
// whole project concerns all messages.
func TestTheLimitOfADeviceOrTopicDelaysNoOtherPush(t *testing.T) {
	t.Parallel()
	quota := func(details string) reply {
		return reply{status: 429, body: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[` + details + `]}}`}
	}
	const target = `{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"}`
	const violations = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":%q,"description":"d"}]},`
	g := serve(t)
	p := g.provider(t)
	for _, c := range []struct {
		name  string
		reply reply
		want  bool
	}{
		{"device or topic", quota(target), true},
		{"device, named", quota(fmt.Sprintf(violations, "busy") + target), true},
		{"project, named", quota(fmt.Sprintf(violations, "project:lab-app") + target), false},
		{"project", quota(`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED"}`), false},
		{"overload", reply{status: 429}, false},
	} {
		g.say("busy", c.reply)
		b := body(`{"tokens":["busy","other"],"title":"T"}`)
		result, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: b})
		f := job.AsFailure(err)
		if provider.Outcome(err) != "postponed" || f.OfMessage != c.want || f.RetryAfter == 0 || result.Excerpt != `{"sent":1,"left":1}` {
			t.Errorf("%s: %+v, %s; want a wait of the device alone: %t", c.name, f, result.Excerpt, c.want)
		}
	}
	g.say("busy", quota(target))
	g.say("other", fcm(503, "UNAVAILABLE", "", ""))
	_, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"tokens":["busy","other"],"title":"T"}`)})
	if f := job.AsFailure(err); f.OfMessage || f.Reason != "push_unavailable" {
		t.Errorf("%+v, want the failure of the provider", f)
	}
}

func TestAPushThatReachesNobodyFailedAndListsWhatFits(t *testing.T) {
	t.Parallel()
	g := serve(t)
	tokens := make([]string, 40)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 150))
		g.say(tokens[i], fcm(404, "UNREGISTERED", "", ""))
	}
	raw, err := json.Marshal(map[string]any{"tokens": tokens, "title": "T"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := g.provider(t).Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(string(raw))})
	if provider.Outcome(err) != "permanent" || result.Sent || len(g.took()) != 40 {
		t.Fatalf("%s %v", provider.Outcome(err), err)
	}
	var s struct {
		Dead     int      `json:"dead"`
		At       []int    `json:"dead_at"`
		Tokens   []string `json:"dead_tokens"`
		Complete bool     `json:"dead_complete"`
	}
	if err := json.Unmarshal([]byte(result.Excerpt), &s); err != nil || s.Dead != 40 || s.Complete || len(s.Tokens) < 5 || len(s.Tokens) != len(s.At) || len(result.Excerpt) > 1<<10 {
		t.Errorf("%d bytes, %+v, %v", len(result.Excerpt), s, err)
	}
}

func TestTheAccessTokenIsFetchedOncePerLife(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := g.provider(t)
	send := func() error {
		_, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"tokens":["a"],"title":"T"}`)})
		return err
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := send(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	g.clock.add(58 * time.Minute)
	if err := send(); err != nil || g.grants != 1 {
		t.Errorf("%d grants, %v", g.grants, err)
	}
	g.clock.add(90 * time.Second)
	if err := send(); err != nil || g.grants != 2 {
		t.Errorf("%d grants, %v", g.grants, err)
	}
	g.mu.Lock()
	g.grants = 7 // the current access token is no longer accepted
	g.mu.Unlock()
	if err := send(); provider.Outcome(err) != "retry" {
		t.Errorf("an access token that ended early: %v", err)
	}
	if err := send(); err != nil || g.grants != 8 {
		t.Errorf("%d grants, %v", g.grants, err)
	}
}

func TestARefusedAccountAndAMissingServerAreToldApart(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := g.provider(t)
	g.refuse = true
	if _, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"tokens":["a"],"title":"T"}`)}); provider.Outcome(err) != "elsewhere" {
		t.Errorf("refused: %v", err)
	}
	g.Close()
	if _, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"tokens":["a"],"title":"T"}`)}); provider.Outcome(err) != "retry" {
		t.Errorf("away: %v", err)
	}
}

func TestAStoppedRoundKeepsWhatIsLeft(t *testing.T) {
	t.Parallel()
	g := serve(t)
	p := g.provider(t)
	if _, err := p.Handle(t.Context(), worker.Delivery{ID: jobID, Body: body(`{"topic":"warm","title":"T"}`)}); err != nil { // fetches the token
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := body(`{"tokens":["a","b"],"title":"T"}`)
	result, err := p.Handle(ctx, worker.Delivery{ID: jobID, Body: b})
	if provider.Outcome(err) != "retry" || result.Sent || string(b.Data) != `{"tokens":["a","b"],"title":"T"}` {
		t.Errorf("%s %+v %s", provider.Outcome(err), result, b.Data)
	}
}

func TestAKeyThatIsNoServiceAccountsIsRefused(t *testing.T) {
	t.Parallel()
	root := fstest.MapFS{"text": {Data: []byte("x")}, "user": {Data: []byte(`{"type":"authorized_user"}`)},
		"half": {Data: []byte(`{"type":"service_account","private_key":"x","client_email":"a","token_uri":"https://x.test/"}`)}}
	for _, name := range []string{"", "missing", "text", "user", "half"} {
		if _, err := push.New([]byte(`{"key_secret":"`+name+`"}`), provider.Deps{Secrets: provider.Directory{Root: root}}); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}
