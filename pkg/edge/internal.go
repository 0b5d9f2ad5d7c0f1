package edge

import (
	"net/http"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/httpserver"
)

// audience is the edge's name in service tokens.
const audience = "gateway"

// Internal returns the handler of the listener for services. It requires a service token for the gateway and
// x-is-internal-request, and refuses users' credentials. The forwarded call has a token of the edge's own, which names
// the caller.
func (e *Edge) Internal() http.Handler {
	return e.listener("internal", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callFrom(r.Context())
		area := c.area
		caller, err := e.internalCaller(r)
		if err != nil {
			httpserver.WriteError(w, area.Shape, err)
			return
		}
		token, mintErr := e.tokens.Mint(area.Name, caller)
		if mintErr != nil {
			e.log.ErrorContext(r.Context(), "service token cannot be minted", "error", mintErr.Error())
			httpserver.WriteError(
				w,
				area.Shape,
				apperr.New(apperr.Internal, "TOKEN_NOT_MINTED", "The gateway is misconfigured. Tell its operator."),
			)
			return
		}
		stripHeaders(r.Header)
		r.Header.Del("Cookie")
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set(internalHeader, "True")
		e.muxes.serve(c, r)
	}))
}

// internalCaller returns the name of the service that called the internal listener, or an Unauthenticated error.
func (e *Edge) internalCaller(r *http.Request) (string, *apperr.Error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	caller, err := e.tokens.Verify(strings.TrimSpace(token), audience)
	switch {
	case !authn.IsServiceToken(token) || !strings.EqualFold(scheme, "Bearer"):
		return "", apperr.New(apperr.Unauthenticated, "SERVICE_TOKEN_REQUIRED",
			"This listener is for services of the platform: send a service token for the gateway.").WithCause(err)
	case err != nil:
		return "", authn.Refusal(err)
	}
	if !strings.EqualFold(r.Header.Get(internalHeader), "true") {
		return "", apperr.New(apperr.Unauthenticated, "INTERNAL_HEADER_REQUIRED",
			"This listener is for internal calls: send x-is-internal-request: True.")
	}
	return caller, nil
}
