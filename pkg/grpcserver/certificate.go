package grpcserver

import (
	"context"
	"slices"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

// checkCertificate refuses a service token on a connection with the certificate of another service: all services share
// the secret that signs tokens, but only one has the key of its certificate. Unencrypted connections are not checked.
func checkCertificate(ctx context.Context, p authn.Principal) error {
	from, _ := peer.FromContext(ctx)
	if p.Kind != authn.Service || from == nil {
		return nil
	}
	shown, encrypted := from.AuthInfo.(credentials.TLSInfo)
	if !encrypted {
		return nil
	}
	if chain := shown.State.PeerCertificates; len(chain) > 0 && slices.Contains(chain[0].DNSNames, p.Via) {
		return nil
	}
	return apperr.Newf(apperr.Forbidden, "CERTIFICATE_OF_ANOTHER",
		"The token is of the service %q and the certificate is not: its DNS names must have that name.", p.Via)
}
