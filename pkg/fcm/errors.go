package fcm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
)

// Class states what an error concerns, and therefore who can resolve it.
type Class int

// The classes of errors.
const (
	Temporary     Class = iota // temporary; may succeed later
	RateLimited                // the provider is healthy and limits the rate
	DeadToken                  // the device's token has become invalid for good
	Refused                    // the message or request will never be accepted
	Configuration              // credentials or project are wrong: every request fails until an operator fixes them
	Platform                   // the credentials of the device's platform are wrong: devices of other platforms are served
	TargetLimited              // the rate of messages to this device or topic is limited: others are served
)

// Error is a classified error response. From the response its text contains only the status and the provider's error
// code.
type Error struct {
	Class      Class
	Reason     string // for metrics and stored results
	Message    string
	RetryAfter time.Duration
	cause      error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.cause }

// answerError is Google's error envelope. Its message may repeat the token, so it is inspected but not kept.
type answerError struct {
	Error struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []struct {
			ErrorCode  string `json:"errorCode"`
			Violations []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
			Quotas []struct {
				Subject string `json:"subject"`
			} `json:"violations"` // of google.rpc.QuotaFailure
		} `json:"details"`
	} `json:"error"`
}

// Classify classifies the response to one message. It returns nil if the message was sent.
func Classify(answer *netguard.Response, now time.Time) *Error {
	if answer.Status == http.StatusOK {
		return nil
	}
	var e answerError
	_ = json.Unmarshal(answer.Body, &e) // an unreadable body is classified by its status
	code := e.code()
	is := func(class Class, reason string) *Error {
		return &Error{Class: class, Reason: reason, Message: said("The push provider", answer.Status, code)}
	}
	switch {
	case code == "UNREGISTERED", code == "INVALID_ARGUMENT" && e.aboutToken():
		return is(DeadToken, "token_dead")
	case code == "INVALID_ARGUMENT", code == "SENDER_ID_MISMATCH":
		return is(Refused, "push_refused")
	case code == "QUOTA_EXCEEDED" && !e.aboutProject():
		return is(TargetLimited, "rate_limited").after(answer, now)
	case code == "QUOTA_EXCEEDED", answer.Status == http.StatusTooManyRequests:
		return is(RateLimited, "rate_limited").after(answer, now)
	case code == "UNAVAILABLE", code == "INTERNAL", answer.Status >= http.StatusInternalServerError:
		return is(Temporary, "push_unavailable").after(answer, now)
	case code == "THIRD_PARTY_AUTH_ERROR":
		failure := is(Platform, "push_credentials")
		failure.Message += ": the credentials of the device's platform are not valid"
		return failure
	// The access token became invalid before it expired. An attempt with a new token may succeed; if the account itself is
	// refused, fetching that token fails.
	case answer.Status == http.StatusUnauthorized:
		return is(Temporary, "push_unauthenticated")
	default:
		return ofStatus(answer, now, "The push provider")
	}
}

// ofStatus classifies a response by its HTTP status.
func ofStatus(answer *netguard.Response, now time.Time, who string) *Error {
	e := &Error{Class: Configuration, Reason: "http_" + strconv.Itoa(answer.Status), Message: said(who, answer.Status, "")}
	switch status := answer.Status; {
	case status == http.StatusTooManyRequests:
		e.Class, e.Reason = RateLimited, "rate_limited"
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= http.StatusInternalServerError:
		e.Class = Temporary
	case status == http.StatusBadRequest,
		status == http.StatusUnprocessableEntity,
		status == http.StatusRequestEntityTooLarge:
		e.Class = Refused
	}
	return e.after(answer, now)
}

func (e *Error) after(answer *netguard.Response, now time.Time) *Error {
	e.RetryAfter = netguard.RetryAfter(answer.Header, now)
	return e
}

func said(who string, status int, code string) string {
	if plain(code) {
		return fmt.Sprintf("%s answered %d (%s)", who, status, code)
	}
	return fmt.Sprintf("%s answered %d", who, status)
}

func (e *answerError) code() string {
	for _, d := range e.Error.Details {
		if d.ErrorCode != "" {
			return d.ErrorCode
		}
	}
	return e.Error.Status
}

// aboutToken reports whether an INVALID_ARGUMENT concerns the token, as opposed to the message; only then is the token
// invalid.
func (e *answerError) aboutToken() bool {
	for _, d := range e.Error.Details {
		for _, v := range d.Violations {
			if v.Field == "message.token" {
				return true
			}
		}
	}
	return strings.Contains(e.Error.Message, "registration token")
}

// aboutProject reports whether a QUOTA_EXCEEDED concerns the whole project. The code means that the limit of the
// message's device or topic is exceeded; requests above the project's limit are refused before, without this code.
func (e *answerError) aboutProject() bool {
	for _, d := range e.Error.Details {
		for _, v := range d.Quotas {
			if strings.HasPrefix(v.Subject, "project") {
				return true
			}
		}
	}
	return false
}

// plain reports whether code looks like an error code, so that no other text gets into messages.
func plain(code string) bool {
	return code != "" && len(code) < 40 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}
