package elastic

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/pkg/config"
)

const (
	dialTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
	// bufferSize fits a request and most responses; the usual 4 KiB would need several system calls for each.
	bufferSize = 16 << 10
)

// Config holds the documented variables of the search engine; nest it with envPrefix "ES_".
type Config struct {
	// URLs are the addresses of the nodes; they may differ in host and port only. Nodes that do not respond are skipped
	// for a time.
	URLs     []string      `env:"URL" envDefault:"http://localhost:9210"`
	User     string        `env:"USER" envDefault:"elastic"`
	Password config.Secret `env:"PASSWORD"` // empty: no password
	APIKey   config.Secret `env:"API_KEY"`  // takes precedence over user and password
	// CACert is a file of PEM certificates. It is ignored for http URLs; if empty, the system's certificates are used.
	CACert string `env:"CA_CERT" envDefault:"/app/certs/ca.crt"`
	// MaxRetries limits the retries of an idempotent request.
	MaxRetries int `env:"MAX_RETRIES" envDefault:"3"`
	// RequestTimeout limits one attempt, in seconds.
	RequestTimeout int `env:"REQUEST_TIMEOUT" envDefault:"30"`
	MaxConnections int `env:"MAX_CONNECTIONS" envDefault:"20"`
}

// Validate returns an error for invalid addresses and for limits that would prevent every request.
func (c *Config) Validate() error {
	var problems []error
	problems = append(problems, c.checkAddresses())
	if c.MaxRetries < 0 {
		problems = append(problems, errors.New("ES_MAX_RETRIES must not be negative"))
	}
	if c.RequestTimeout <= 0 {
		problems = append(problems, errors.New("ES_REQUEST_TIMEOUT must be at least 1 second"))
	}
	if c.MaxConnections <= 0 {
		problems = append(problems, errors.New("ES_MAX_CONNECTIONS must be at least 1"))
	}
	return errors.Join(problems...)
}

func (c *Config) checkAddresses() error {
	var first *url.URL
	for _, address := range c.URLs {
		u, err := url.Parse(address)
		switch {
		case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
			return errors.New("ES_URL must have the form http://host:9200 or https://host:9200, or several of these separated by commas")
		case u.User != nil:
			return errors.New("ES_URL contains a user: use ES_USER and ES_PASSWORD")
		case first != nil && (u.Scheme != first.Scheme || u.Path != first.Path):
			return errors.New("the addresses of ES_URL may differ in host and port only")
		}
		first = u
	}
	if first == nil {
		return errors.New("ES_URL must name at least one address like http://host:9200")
	}
	return nil
}

// spread returns a transport that sends requests to all addresses in turn.
func (c *Config) spread(pool http.RoundTripper) http.RoundTripper {
	if len(c.URLs) == 1 {
		return pool
	}
	all := &nodes{pool: pool, clock: clock.System{}}
	for _, address := range c.URLs {
		u, _ := url.Parse(address) // already parsed by Validate
		all.all = append(all.all, &node{address: u})
	}
	return all
}

// timeout returns the time limit of one attempt.
func (c *Config) timeout() time.Duration { return time.Duration(c.RequestTimeout) * time.Second }

func (c *Config) transport() (*http.Transport, error) {
	secure, err := c.tls()
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: dialTimeout,
		MaxConnsPerHost:     c.MaxConnections,
		MaxIdleConnsPerHost: c.MaxConnections,
		IdleConnTimeout:     idleTimeout,
		DisableCompression:  true,
		ReadBufferSize:      bufferSize,
		WriteBufferSize:     bufferSize,
	}, nil
}

func (c *Config) tls() (*tls.Config, error) {
	if !strings.HasPrefix(c.URLs[0], "https:") || c.CACert == "" {
		return nil, nil // nil means the system's configuration
	}
	pem, err := os.ReadFile(c.CACert)
	if err != nil {
		return nil, fmt.Errorf("read ES_CA_CERT (leave it empty to trust the system's certificates): %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("ES_CA_CERT %s contains no PEM certificate", c.CACert)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
