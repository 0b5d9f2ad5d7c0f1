package whatsapp

import (
	"fmt"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
)

func codes() *provider.Codes {
	return &provider.Codes{
		Prefix:  "whatsapp_",
		Limits:  []int{4, 80007, 130429, 131048, 133016}, // rate limits of the application, account and number
		Passing: []int{1, 2, 131000, 131016, 131057, 133004},
		Message: []int{100, 130472, 131008, 131009, 131021, 131026, 131047, 131049, 131050, 131051, 131052, 131053,
			132000, 132001, 132005, 132007, 132012, 132068, 132069}, // errors of the recipient, text, template and file
		One: []int{130497, 132015, 132016}, // recipient's country; paused templates
		Account: []int{3, 10, 190, 368, 131005, 131031, 131037, 131042, 131045,
			133010}, // errors of the token, permission, policy, payment and number
	}
}

const (
	pairLimit                       = 131056
	firstPermission, lastPermission = 200, 299
)

// read returns the id of a sent message, or why it was not sent. The response may repeat the text of the message, so
// only the code is kept.
func (p *Provider) read(answer *netguard.Response) (id string, err error) {
	if answer.Status >= 200 && answer.Status < 300 {
		id, found := provider.Lookup(answer.Body, "messages.0.id")
		if !found {
			return "", provider.Unreadable()
		}
		return id, nil
	}
	known, code := codes(), provider.Code(answer.Body, "error.code")
	switch {
	case code == pairLimit: // limit of one recipient: other messages need not wait
		return "", provider.LimitedOne(fmt.Sprintf("The provider refused the message (error %d)", code),
			netguard.RetryAfter(answer.Header, p.deps.Clock.Now()))
	case code >= firstPermission && code <= lastPermission:
		known.Account = append(known.Account, code)
	}
	return "", known.Failure(answer, code, p.deps.Clock.Now())
}
