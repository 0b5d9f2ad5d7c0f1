package blob

import (
	"errors"
	"net/url"
	"path"
	"strings"

	"github.com/labplatform/labplatform/pkg/config"
)

// Config holds the settings of the store. Nest it with envPrefix "BLOB_".
type Config struct {
	// URL is file:///folder, or s3://bucket?region=…&endpoint=…. The query accepts the options of the S3 driver, such as
	// use_path_style, and ssetype: AES256 (the default), aws:kms with kmskeyid, or none.
	URL string `env:"URL"`
	// SigningSecret and PublicURL are for a folder only, because S3 signs and serves its own links. PublicURL is the
	// address at which clients reach Bucket.Handler.
	SigningSecret config.Secret `env:"SIGNING_SECRET"`
	PublicURL     string        `env:"PUBLIC_URL"`
}

// IsFolder reports whether the store is a folder, so that the service itself serves the links to files.
func (c *Config) IsFolder() bool { return strings.HasPrefix(c.URL, "file:") }

// Validate rejects invalid settings.
func (c *Config) Validate() error {
	store, err := url.Parse(c.URL)
	switch {
	case err != nil || (store.Scheme != "file" && store.Scheme != "s3"):
		return errors.New("BLOB_URL must be file:///folder or s3://bucket?region=…")
	case store.User != nil:
		return errors.New(
			"BLOB_URL must not hold credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or as the role of the machine",
		)
	case store.Scheme == "s3" && (store.Host == "" || store.Path != ""):
		return errors.New("BLOB_URL must name a bucket alone, as in s3://bucket?region=…")
	case store.Scheme == "s3":
		return nil
	case store.Host != "" || !path.IsAbs(store.Path):
		return errors.New("BLOB_URL must name an absolute folder with three slashes, as in file:///var/lib/lab/objects")
	}
	return c.validateLinks()
}

func (c *Config) validateLinks() error {
	var problems []error
	if !c.SigningSecret.IsSet() {
		problems = append(problems,
			errors.New("BLOB_SIGNING_SECRET must be set: links to files in a folder are signed with it"))
	}
	problems = append(problems, config.Keys{{"BLOB_SIGNING_SECRET", c.SigningSecret}}.Check())
	public, err := url.Parse(c.PublicURL)
	if err != nil || (public.Scheme != "http" && public.Scheme != "https") || public.Host == "" || public.RawQuery != "" ||
		public.Fragment != "" {
		problems = append(
			problems,
			errors.New("BLOB_PUBLIC_URL must be where clients reach the files of a folder, as in http://127.0.0.1:8012/files"),
		)
	}
	return errors.Join(problems...)
}
