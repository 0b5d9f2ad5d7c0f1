package tlsfiles

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
)

// Credentials returns gRPC credentials for servers and clients. Both sides must present a certificate of the CA. Each
// handshake uses the current content of the files.
func (c Config) Credentials() credentials.TransportCredentials {
	return &rotating{&reader{files: files(c)}}
}

type rotating struct{ reader *reader }

var _ credentials.TransportCredentials = (*rotating)(nil)

func (r *rotating) ClientHandshake(
	ctx context.Context,
	authority string,
	conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	m, err := r.reader.current()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: m.roots, Certificates: m.certificates,
	}).ClientHandshake(ctx, authority, conn)
}

func (r *rotating) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m, err := r.reader.current()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, ClientCAs: m.roots, ClientAuth: tls.RequireAndVerifyClientCert,
		Certificates: m.certificates,
	}).ServerHandshake(conn)
}

func (*rotating) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

func (r *rotating) Clone() credentials.TransportCredentials { return &rotating{r.reader} }

func (*rotating) OverrideServerName(string) error {
	return errors.New("the server name is taken from the address and cannot be overridden")
}
