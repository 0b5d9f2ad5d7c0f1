package edge

import (
	"net/http"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// audience is the edge's name in service tokens.
const audience = "gateway"

// internalCaller returns the name of the service that called the internal listener, or an Unauthenticated error.
func (e *Edge) internalCaller(r *http.Request) (string, *apperr.Error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	caller, err := e.tokens.Verify(strings.TrimSpace(token), audience)
	if !strings.EqualFold(scheme, "Bearer") || err != nil {
		return "", apperr.New(apperr.Unauthenticated, "SERVICE_TOKEN_REQUIRED",
			"This listener is for services of the platform: send a service token for the gateway.").WithCause(err)
	}
	if !strings.EqualFold(r.Header.Get(internalHeader), "true") {
		return "", apperr.New(apperr.Unauthenticated, "INTERNAL_HEADER_REQUIRED",
			"This listener is for internal calls: send x-is-internal-request: True.")
	}
	return caller, nil
}
