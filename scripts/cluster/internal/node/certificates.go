package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of the certificates; a test's cluster exists for a shorter time.
const lifetime = 30 * 24 * time.Hour

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// identity is the subject of a certificate that the cluster's authority signs. Its organizations are Kubernetes groups.
type identity struct {
	file, name, group string
	names             []string // host names and addresses, in a server's certificate
	addresses         []string
}

func identities() []identity {
	return []identity{
		{file: "apiserver", name: "kube-apiserver", addresses: []string{"127.0.0.1", Address, firstIP}, names: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}},
		{file: "kubelet-server", name: Name, names: []string{Name}, addresses: []string{Address}},
		{file: "admin", name: "admin", group: "system:masters"},
		{file: "apiserver-kubelet", name: "kube-apiserver", group: "system:masters"},
		{file: "controller-manager", name: "system:kube-controller-manager"},
		{file: "scheduler", name: "system:kube-scheduler"},
		{file: "proxy", name: "system:kube-proxy"},
		{file: "kubelet", name: "system:node:" + Name, group: "system:nodes"},
	}
}

// writeCertificates writes the cluster's authority, all certificates, and a kubeconfig for each client.
func (n Node) writeCertificates(now time.Time) error {
	if err := os.MkdirAll(n.pki(""), 0o700); err != nil {
		return err
	}
	ca, err := n.newAuthority(now)
	if err != nil {
		return err
	}
	for _, who := range identities() {
		if err := n.issue(ca, who, now); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(n.pki("service-accounts.key"), key)
}

func (n Node) newAuthority(now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: Name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter: now.Add(
			lifetime,
		),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return authority{certificate, key}, errors.Join(err, writePEM(n.pki("ca.crt"), "CERTIFICATE", der))
}

func (n Node) issue(ca authority, who identity, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: who.name},
		NotBefore: now.Add(
			-time.Hour,
		),
		NotAfter:    now.Add(lifetime),
		DNSNames:    who.names,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if who.group != "" {
		template.Subject.Organization = []string{who.group}
	}
	for _, address := range who.addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, &key.PublicKey, ca.key)
	if err != nil {
		return err
	}
	file := n.pki(who.file)
	if err := errors.Join(writePEM(file+".crt", "CERTIFICATE", der), writeKey(file+".key", key)); err != nil {
		return err
	}
	return n.writeKubeconfig(who.file)
}

func (n Node) writeKubeconfig(who string) error {
	var encoded [3]any
	for i, file := range []string{"ca.crt", who + ".crt", who + ".key"} {
		text, err := os.ReadFile(n.pki(file))
		if err != nil {
			return err
		}
		encoded[i] = base64.StdEncoding.EncodeToString(text)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://`+Address+`:6443", certificate-authority-data: %s}}]
users: [{name: lab, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
current-context: lab
`, encoded[:]...)
	return os.WriteFile(n.pki(who+".kubeconfig"), []byte(text), 0o600)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
