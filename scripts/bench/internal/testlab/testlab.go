// Package testlab gives benchmarks of a REST area access to a running stack: it loads fixtures, calls the gateway as a
// user, and reads stored rows by SQL.
package testlab

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/seed"
)

// Lab calls one stack. Its methods may be called from several goroutines.
type Lab struct {
	DB *sql.DB

	gateway string
	target  seed.Target
	client  *http.Client
}

// Open returns a Lab for the stack that runs in dir, whose gateway listens at the URL gateway.
func Open(dir, gateway string) (*Lab, error) {
	target, err := seed.Stack(dir)
	if err != nil {
		return nil, err
	}
	db, err := target.OpenMySQL()
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return &Lab{DB: db, gateway: gateway, target: target, client: client}, nil
}

// Close closes DB and the idle connections.
func (l *Lab) Close() {
	l.client.CloseIdleConnections()
	_ = l.DB.Close()
}

// Apply writes a fixture in the format of devstack's fixture files.
func (l *Lab) Apply(ctx context.Context, fixture map[string]any) error {
	text, err := json.Marshal(fixture)
	if err != nil {
		return err
	}
	parsed, err := seed.Parse(text, "")
	if err != nil {
		return err
	}
	_, err = l.target.Apply(ctx, parsed)
	return err
}

// User returns a session for the part "sessions" of a fixture: a user of laboratory lab, logged in as id.
func User(id string, lab int) map[string]any {
	return map[string]any{"id": id, "session_type": "lab_user", "lab_id": lab, "lab_user_id": 1, "username": "bench"}
}

// Request is a user's request. An empty Method is GET; an empty IdempotencyKey sends no such header.
type Request struct{ Session, Method, Path, Body, IdempotencyKey string }

// Call sends a request to the gateway and returns the result of Do.
func (l *Lab) Call(ctx context.Context, r Request) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, l.gateway+r.Path, strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Cookie", "sessionid="+r.Session)
	if r.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	return l.Do(request)
}

// Do returns the body of a response with status 200; for another status it returns an error that quotes the beginning
// of the body.
func (l *Lab) Do(request *http.Request) ([]byte, error) {
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %d %.200s", request.Method, request.URL.Path, response.StatusCode, body)
	}
	return body, nil
}

// Status returns a counter of the database server since its start, such as Questions.
func (l *Lab) Status(ctx context.Context, name string) (n int, err error) {
	err = l.DB.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE ?", name).Scan(&name, &n)
	return n, err
}
