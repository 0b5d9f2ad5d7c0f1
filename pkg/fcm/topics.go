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
	// DefaultTopicsBase is the address of the interface that manages topics.
	DefaultTopicsBase = "https://iid.googleapis.com"
	// MaxTokens is how many tokens one call may name.
	MaxTokens = 1000

	topicsTimeout = 10 * time.Second
)

// Topics subscribes tokens to topics. Safe for concurrent use.
type Topics struct {
	client      Client
	access      *Access
	clock       clock.Clock
	add, remove *url.URL
}

// NewTopics returns the management of topics at base. client must read answers of 64 KiB: they name every token's fate.
func NewTopics(base string, client Client, access *Access, c clock.Clock) (*Topics, error) {
	u, err := parseAddress(base)
	if err != nil {
		return nil, err
	}
	return &Topics{client, access, c, u.JoinPath("iid", "v1:batchAdd"), u.JoinPath("iid", "v1:batchRemove")}, nil
}

// Add subscribes at most MaxTokens tokens to a topic and returns the fate of each: nil, or its *Error. An error
// concerns all of them. Repeating it changes nothing.
func (t *Topics) Add(ctx context.Context, topic string, tokens []string) ([]*Error, error) {
	return t.call(ctx, t.add, topic, tokens)
}

// Remove ends subscriptions; its results are those of Add.
func (t *Topics) Remove(ctx context.Context, topic string, tokens []string) ([]*Error, error) {
	return t.call(ctx, t.remove, topic, tokens)
}

func (t *Topics) call(ctx context.Context, where *url.URL, topic string, tokens []string) ([]*Error, error) {
	if len(tokens) == 0 || len(tokens) > MaxTokens {
		return nil, fmt.Errorf("%d tokens in one call: 1 to %d are possible", len(tokens), MaxTokens)
	}
	body, err := json.Marshal(map[string]any{"to": "/topics/" + topic, "registration_tokens": tokens})
	if err != nil {
		return nil, fmt.Errorf("encode the subscription: %w", err)
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
		netguard.Request{Method: http.MethodPost, URL: where, Header: header, Body: body, Timeout: topicsTimeout},
	)
	if err != nil {
		return nil, err
	}
	if answer.Status == http.StatusUnauthorized {
		t.access.Drop(token)
		return nil, &Error{
			Class:   Passing,
			Reason:  "push_unauthenticated",
			Message: said("The push provider", answer.Status, ""),
		}
	}
	if answer.Status != http.StatusOK {
		return nil, ofStatus(answer, t.clock.Now(), "The push provider")
	}
	return fates(answer.Body, len(tokens))
}

// fates reads one result for each token, in the order of the request.
func fates(body []byte, tokens int) ([]*Error, error) {
	var answer struct {
		Results []struct {
			Error string `json:"error"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Results) != tokens {
		return nil, &Error{Class: Passing, Reason: "push_unavailable",
			Message: "The push provider's answer does not name the fate of " + strconv.Itoa(tokens) + " tokens"}
	}
	list := make([]*Error, tokens)
	for i, result := range answer.Results {
		if result.Error != "" {
			list[i] = ofToken(result.Error)
		}
	}
	return list, nil
}

// ofToken classifies the error of one token in an answer that is accepted as a whole.
func ofToken(code string) *Error {
	e := &Error{Class: Passing, Reason: "push_unavailable", Message: said("The push provider", http.StatusOK, code)}
	switch code {
	case "NOT_FOUND", "UNREGISTERED", "INVALID_ARGUMENT":
		e.Class, e.Reason = DeadToken, "token_dead"
	case "TOO_MANY_TOPICS", "PERMISSION_DENIED": // a token of another project
		e.Class, e.Reason = Refused, "push_refused"
	case "RESOURCE_EXHAUSTED":
		e.Class, e.Reason = RateLimited, "rate_limited"
	}
	return e
}
