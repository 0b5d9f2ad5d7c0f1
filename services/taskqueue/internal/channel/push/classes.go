package push

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/progress"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// fcmError is Google's error envelope. Its message may repeat the token: it is looked at and not kept.
type fcmError struct {
	Error struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []struct {
			ErrorCode  string `json:"errorCode"`
			Violations []struct {
				Field string `json:"field"`
			} `json:"fieldViolations"`
		} `json:"details"`
	} `json:"error"`
}

// judge tells the fate of one token. err is nil for Sent; beside Left it may pass or be the provider's own fault.
func judge(answer *netguard.Response, now time.Time) (progress.Mark, error) {
	if answer.Status == http.StatusOK {
		return progress.Sent, nil
	}
	var e fcmError
	_ = json.Unmarshal(answer.Body, &e) // an unreadable answer is judged by its status
	code := e.code()
	message := fmt.Sprintf("The push provider answered %d", answer.Status)
	if known(code) {
		message += " (" + code + ")"
	}
	wait := provider.RetryAfter(answer.Header, now)
	switch {
	case code == "UNREGISTERED", code == "INVALID_ARGUMENT" && e.aboutToken():
		return progress.Dead, job.Permanent("token_dead", message)
	case code == "INVALID_ARGUMENT", code == "SENDER_ID_MISMATCH":
		return progress.Refused, job.Permanent("push_refused", message)
	case code == "QUOTA_EXCEEDED", answer.Status == http.StatusTooManyRequests:
		return progress.Left, job.Retryable(provider.RateLimited, message).After(wait)
	case code == "UNAVAILABLE", code == "INTERNAL", answer.Status >= http.StatusInternalServerError:
		return progress.Left, job.Retryable("push_unavailable", message).After(wait)
	case code == "THIRD_PARTY_AUTH_ERROR":
		return progress.Left, provider.FailOver("push_credentials", message+": the credentials of the device's platform are not valid")
	case answer.Status == http.StatusUnauthorized: // the token ended early; a refused account shows when a new one is fetched
		return progress.Left, job.Retryable("push_unauthenticated", message)
	default:
		return progress.Left, provider.Status(answer.Status, answer.Header, now, false, "")
	}
}

func (e *fcmError) code() string {
	for _, d := range e.Error.Details {
		if d.ErrorCode != "" {
			return d.ErrorCode
		}
	}
	return e.Error.Status
}

// aboutToken tells a malformed token from a malformed message: only the first one is dead.
func (e *fcmError) aboutToken() bool {
	for _, d := range e.Error.Details {
		for _, v := range d.Violations {
			if v.Field == "message.token" {
				return true
			}
		}
	}
	return strings.Contains(e.Error.Message, "registration token")
}

// known keeps strange text out of messages.
func known(code string) bool {
	return code != "" && len(code) < 40 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}
