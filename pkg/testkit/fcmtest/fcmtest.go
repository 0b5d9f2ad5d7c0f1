// Package fcmtest simulates Firebase Cloud Messaging in the test's process: the token endpoint, which checks the
// assertion, and the management of topics, with the documented responses.
package fcmtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	email = "push@lab.example"
	scope = "https://www.googleapis.com/auth/firebase.messaging"
	grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// Response replaces the server's usual response.
type Response struct {
	Status     int
	Body       string
	RetryAfter string
}

// Server is the simulated provider. It is safe for concurrent use.
type Server struct {
	*httptest.Server
	t   testing.TB
	key *rsa.PrivateKey

	mu      sync.Mutex
	grants  int                 // access tokens issued; guarded by mu, like all below
	refused bool                // the service account is refused
	topics  map[string][]string // by token
	errors  map[string]string   // error code by token
	next    []Response
	calls   []string // path and topic of each call
}

// Start starts a provider that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, key: key, topics: map[string][]string{}, errors: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", s.grant)
	mux.HandleFunc("POST /iid/v1:batchAdd", s.batch)
	mux.HandleFunc("POST /iid/v1:batchRemove", s.batch)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Client returns a guarded client that can reach the server.
func (s *Server) Client() *netguard.Client {
	c := netguard.New(netguard.Config{AllowHTTP: true, AllowedHosts: []string{"127.0.0.1"}, MaxBody: 64 << 10})
	s.t.Cleanup(c.Close)
	return c
}

// KeyFile returns the key file of the service account that the server accepts.
func (s *Server) KeyFile() config.Secret {
	raw, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	file, err := json.Marshal(
		map[string]string{
			"type":           "service_account",
			"project_id":     "lab-app",
			"private_key_id": "k1",
			"client_email":   email,
			"token_uri":      s.URL + "/token",
			"private_key":    string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})),
		},
	)
	if err != nil {
		s.t.Fatal(err)
	}
	return config.Secret(file)
}

// Refuse makes the token endpoint refuse the service account.
func (s *Server) Refuse() { s.with(func() { s.refused = true }) }

// Expire invalidates the issued access tokens.
func (s *Server) Expire() { s.with(func() { s.grants += 10 }) }

// SetError makes every call return the error code for token; an empty code removes it.
func (s *Server) SetError(token, code string) { s.with(func() { s.errors[token] = code }) }

// Next sets the responses of the next calls.
func (s *Server) Next(responses ...Response) {
	s.with(func() { s.next = append(s.next, responses...) })
}

// Topics returns the topics of a token, sorted.
func (s *Server) Topics(token string) (topics []string) {
	s.with(func() { topics = slices.Sorted(slices.Values(s.topics[token])) })
	return topics
}

// Calls returns the number of calls since the last time.
func (s *Server) Calls() (n int) {
	s.with(func() { n, s.calls = len(s.calls), nil })
	return n
}

// Grants returns the number of issued access tokens.
func (s *Server) Grants() (n int) {
	s.with(func() { n = s.grants })
	return n
}

func (s *Server) with(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *Server) grant(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(
		r.FormValue("assertion"),
		claims,
		func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil },
		jwt.WithValidMethods(
			[]string{"RS256"},
		),
		jwt.WithAudience(s.URL+"/token"),
		jwt.WithIssuer(email),
		jwt.WithoutClaimsValidation(),
	)
	if err != nil || claims["scope"] != scope || r.FormValue("grant_type") != grant || s.refused {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	s.grants++
	_, _ = fmt.Fprintf(w, `{"access_token":"at-%d","expires_in":3600}`, s.grants)
}

type batch struct {
	To     string   `json:"to"`
	Tokens []string `json:"registration_tokens"`
}

func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in batch
	err := json.NewDecoder(r.Body).Decode(&in)
	topic, named := strings.CutPrefix(in.To, "/topics/")
	s.calls = append(s.calls, r.URL.Path+" "+topic)
	switch {
	case r.Header.Get("Authorization") != fmt.Sprintf("Bearer at-%d", s.grants),
		r.Header.Get("access_token_auth") != "true":
		w.WriteHeader(http.StatusUnauthorized)
	case len(s.next) > 0:
		response := s.next[0]
		s.next = s.next[1:]
		if response.RetryAfter != "" {
			w.Header().Set("Retry-After", response.RetryAfter)
		}
		w.WriteHeader(response.Status)
		_, _ = io.WriteString(w, response.Body)
	case err != nil || !named || topic == "" || len(in.Tokens) == 0 || len(in.Tokens) > 1000:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"InvalidTopicName"}`)
	default:
		s.apply(w, topic, in.Tokens, strings.HasSuffix(r.URL.Path, "batchAdd"))
	}
}

func (s *Server) apply(w http.ResponseWriter, topic string, tokens []string, add bool) {
	results := make([]map[string]string, len(tokens))
	for i, token := range tokens {
		results[i] = map[string]string{}
		if code := s.errors[token]; code != "" {
			results[i]["error"] = code
			continue
		}
		s.topics[token] = slices.DeleteFunc(s.topics[token], func(t string) bool { return t == topic })
		if add {
			s.topics[token] = append(s.topics[token], topic)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"results": results})
}
