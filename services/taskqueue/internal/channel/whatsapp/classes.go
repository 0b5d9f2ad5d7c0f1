package whatsapp

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/channel/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// graphError is the interface's error. Its texts may repeat the message: only the code is kept.
type graphError struct {
	Error struct {
		Code int `json:"code"`
	} `json:"error"`
}

// failure classifies an error answer: by the code when we know it, else by the status.
func failure(answer *netguard.Response, now time.Time) error {
	var e graphError
	_ = json.Unmarshal(answer.Body, &e) // an unreadable answer is judged by its status
	code := e.Error.Code
	message := fmt.Sprintf("The provider refused the message (error %d)", code)
	reason := fmt.Sprintf("whatsapp_%d", code)
	switch code {
	case 4, 80007, 130429, 131048, 133016: // limits of application, account, number
		return job.Retryable(provider.RateLimited, message).After(netguard.RetryAfter(answer.Header, now))
	case 131056: // limit of one recipient: no wait for the others
		return job.Retryable(provider.RateLimited, message)
	case 1, 2, 131000, 131016, 131057, 133004: // trouble on their side
		return job.Retryable(reason, message).After(netguard.RetryAfter(answer.Header, now))
	case 100, 130472, 131008, 131009, 131021, 131026, 131047, 131049, 131050, 131051, 131052, 131053,
		132000, 132001, 132005, 132007, 132012, 132068, 132069: // recipient, text, template, file
		return job.Permanent(reason, message)
	case 3, 10, 190, 368, 130497, 131005, 131031, 131037, 131042, 131045, 132015, 132016,
		133010: // token, permission, policy, payment, number, template paused
		return provider.FailOver(reason, message)
	}
	if code >= 200 && code <= 299 { // permissions
		return provider.FailOver(reason, message)
	}
	detail := ""
	if code != 0 {
		detail = fmt.Sprintf("error %d", code)
	}
	return provider.Status(answer.Status, answer.Header, now, true, detail)
}
