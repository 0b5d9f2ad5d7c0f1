package fcm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/netguard"
)

const (
	// DefaultTopicsBase is the address of Google's API for topics.
	DefaultTopicsBase = "https://iid.googleapis.com"
	// MaxTokens is the maximum number of tokens of one call.
	MaxTokens = 1000

	topicsTimeout = 10 * time.Second
)

// Topics subscribes tokens to topics. It is safe for concurrent use.
type Topics struct {
	client      Client
	access      *Access
	clock       clock.Clock
	add, remove *url.URL
}

// NewTopics returns a client of the topics API at base, which is DefaultTopicsBase in production. client must accept
// response bodies of 64 KiB: they contain a result per token.
func NewTopics(base string, client Client, access *Access, c clock.Clock) (*Topics, error) {
	u, err := parseAddress(base)
	if err != nil {
		return nil, err
	}
	return &Topics{client, access, c, u.JoinPath("iid", "v1:batchAdd"), u.JoinPath("iid", "v1:batchRemove")}, nil
}

// Add subscribes at most MaxTokens tokens to a topic and returns a result per token, in their order: nil or its *Error.
// The second result is an error that concerns the whole call. Repeating a call has no further effect.
func (t *Topics) Add(ctx context.Context, topic string, tokens []string) ([]*Error, error) {
	return t.call(ctx, t.add, topic, tokens)
}

// Remove unsubscribes tokens; its results are like those of Add.
func (t *Topics) Remove(ctx context.Context, topic string, tokens []string) ([]*Error, error) {
	return t.call(ctx, t.remove, topic, tokens)
}

func (t *Topics) call(ctx context.Context, endpoint *url.URL, topic string, tokens []string) ([]*Error, error) {
	if len(tokens) == 0 || len(tokens) > MaxTokens {
		return nil, fmt.Errorf("%d tokens in one call: use 1 to %d", len(tokens), MaxTokens)
	}
	body, err := json.Marshal(map[string]any{"to": "/topics/" + topic, "registration_tokens": tokens})
	if err != nil {
		return nil, fmt.Errorf("encode subscription: %w", err)
	}
	token, err := t.access.Token(ctx)
	if err != nil {
		return nil, err
	}
	header := http.Header{
		"Content-Type":      {"application/json"},
		"Authorization":     {"Bearer " + token},
		"Access_token_auth": {"true"},
	}
	answer, err := t.client.Do(
		ctx,
		netguard.Request{Method: http.MethodPost, URL: endpoint, Header: header, Body: body, Timeout: topicsTimeout},
	)
	if err != nil {
		return nil, err
	}
	if answer.Status == http.StatusUnauthorized {
		t.access.Drop(token)
		return nil, &Error{
			Class:   Temporary,
			Reason:  "push_unauthenticated",
			Message: said("The push provider", answer.Status, ""),
		}
	}
	if answer.Status != http.StatusOK {
		return nil, ofStatus(answer, t.clock.Now(), "The push provider")
	}
	return tokenResults(answer.Body, len(tokens))
}

// tokenResults parses one result per token, in the order of the request.
func tokenResults(body []byte, tokens int) ([]*Error, error) {
	var answer struct {
		Results []struct {
			Error string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Results) != tokens {
		return nil, &Error{Class: Temporary, Reason: "push_unavailable",
			Message: "The push provider's response lacks the results of " + strconv.Itoa(tokens) + " tokens"}
	}
	list := make([]*Error, tokens)
	for i, result := range answer.Results {
		if result.Error != "" {
			list[i] = ofToken(result.Error)
		}
	}
	return list, nil
}

// ofToken classifies the error of one token in a successful response.
func ofToken(code string) *Error {
	e := &Error{Class: Temporary, Reason: "push_unavailable", Message: said("The push provider", http.StatusOK, code)}
	switch code {
	case "NOT_FOUND", "UNREGISTERED", "INVALID_ARGUMENT":
		e.Class, e.Reason = DeadToken, "token_dead"
	case "TOO_MANY_TOPICS", "PERMISSION_DENIED": // the token belongs to another project
		e.Class, e.Reason = Refused, "push_refused"
	case "RESOURCE_EXHAUSTED":
		e.Class, e.Reason = RateLimited, "rate_limited"
	}
	return e
}
