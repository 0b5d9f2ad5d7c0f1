// Package app assembles the taskqueue process: its settings, and the servers and loops that it runs.
package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/httpserver"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/pkg/redisdb"
	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/webhook"
	"github.com/labplatform/labplatform/services/taskqueue/internal/grpcapi"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/phone"
	"github.com/labplatform/labplatform/services/taskqueue/internal/store/engine"
)

// Prefix is the prefix of the service's environment variables.
const Prefix = "TASKQUEUE_"

// Values of DOUBTFUL_SENDS.
const (
	doubtHold   = "hold"
	doubtResend = "resend"
)

// Default ports.
const (
	defaultGRPCPort  = 9004
	defaultAdminPort = 8004
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	KV       redisdb.Config `envPrefix:"KV_"`    // store of the platform's sessions
	Redis    redisdb.Config `envPrefix:"REDIS_"` // the queue's own Redis
	DB       mysqldb.Config `envPrefix:"DB_"`    // archive, consents, mappings, providers
	Queue    QueueConfig
	Delivery DeliveryConfig
	Outbox   OutboxConfig `envPrefix:"OUTBOX_"`
	// AdminPage is the page of operators on the admin port.
	AdminPage AdminPageConfig `envPrefix:"ADMIN_"`

	// DatabaseEnabled turns the database on. Without it, the queue has no archive, consents, mappings and configured
	// providers.
	DatabaseEnabled bool `env:"DB_ENABLED" envDefault:"true"`

	// Access determines who may use the queue in addition to the platform's services: authenticated, open or off.
	Access grpcapi.Access `env:"ACCESS" envDefault:"authenticated" danger:"open: callers without a credential enqueue tasks"`
	// DefaultCountryCode is the calling code, such as 91, for telephone numbers without one. If it is empty, such numbers
	// are rejected.
	DefaultCountryCode string `env:"DEFAULT_COUNTRY_CODE"`
	// SendPermission is the permission that users need to enqueue, schedule and retry tasks. If it is empty, any valid
	// credential suffices.
	SendPermission string `env:"SEND_PERMISSION" danger:": every login of a laboratory sends messages"`
}

// QueueConfig holds the settings of the engine and the pools.
type QueueConfig struct {
	// Profile is durable (accept jobs only if Redis keeps them after kill -9), attested (trust the operator where Redis
	// does not report its settings) or fast (accept any Redis).
	Profile engine.Profile `env:"PROFILE" envDefault:"durable" danger:"fast: accepted tasks may be lost"`
	// WaitReplicas is the number of replicas that must have a task before it is accepted; with WaitAOF the master's disk
	// must have it, too.
	WaitReplicas int  `env:"WAIT_REPLICAS" envDefault:"0"`
	WaitAOF      bool `env:"WAIT_AOF" envDefault:"false"`
	LaneLimit    int  `env:"LANE_LIMIT" envDefault:"5000000" min:"1"`
	// LabLimit is the maximum number of waiting jobs of one laboratory in a lane of a shard.
	LabLimit int `env:"LAB_LIMIT" envDefault:"1000000" min:"1"`
	// LabBytes is the maximum size in bytes of one laboratory's waiting jobs in all lanes.
	LabBytes    int64 `env:"LAB_BYTES" envDefault:"268435456" min:"1"`
	ResultHours int   `env:"RESULT_HOURS" envDefault:"24" min:"1"`
	DeadDays    int   `env:"DEAD_DAYS" envDefault:"7" min:"1"`
	DeadLimit   int   `env:"DEAD_LIMIT" envDefault:"100000" min:"1"`
	// DeadBytes is the maximum estimated size in bytes of the failed jobs kept in the queue. If it is exceeded, the oldest
	// jobs of the laboratory with the most are dropped first.
	DeadBytes   int64 `env:"DEAD_BYTES" envDefault:"536870912" min:"1"`
	ArchiveDays int   `env:"ARCHIVE_DAYS" envDefault:"90" min:"1"`
	// ArchiveLimit is the number of ended jobs waiting for the archive above which ordinary jobs wait, too.
	ArchiveLimit int `env:"ARCHIVE_LIMIT" envDefault:"2000000" min:"1"`
	// DoubtfulSends is what happens to a paid message whose worker died while sending: hold (state unknown) or resend.
	DoubtfulSends string `env:"DOUBTFUL_SENDS" envDefault:"hold"`

	WebhookWorkers  int `env:"WEBHOOK_WORKERS" envDefault:"128" min:"1"`
	CallbackWorkers int `env:"CALLBACK_WORKERS" envDefault:"64" min:"1"`
	MessageWorkers  int `env:"MESSAGE_WORKERS" envDefault:"32" min:"1"`
	// GraceSeconds is how long running deliveries may continue after a stop request.
	GraceSeconds int `env:"GRACE_SECONDS" envDefault:"10"`
}

// DeliveryConfig holds the settings of webhooks and callbacks.
type DeliveryConfig struct {
	InternalOrigins  []string `env:"INTERNAL_ORIGINS"`
	InternalNetworks []string `env:"INTERNAL_NETWORKS"`
	AllowedHosts     []string `env:"ALLOWED_HOSTS" danger:"*: the checks of address, port and encryption are lifted for these hosts"`
	AllowedPorts     []int    `env:"ALLOWED_PORTS" envDefault:"80,443"`
	AllowHTTP        bool     `env:"ALLOW_HTTP" envDefault:"false" danger:"true: webhooks are sent without encryption"`
	// HostConcurrency is the maximum number of concurrent requests of one laboratory to one receiver from this process.
	HostConcurrency int `env:"HOST_CONCURRENCY" envDefault:"32" min:"1"`
	// HostRate is the maximum number of requests per second to one receiver from all processes; 0: no limit.
	HostRate float64 `env:"HOST_RATE" envDefault:"0"`
	// HostRates are limits for single receivers, such as https://api.example.com=20.
	HostRates []string `env:"HOST_RATES"`
	// ProviderSecretsDir holds one file per secret named in provider settings.
	ProviderSecretsDir string `env:"PROVIDER_SECRETS_DIR"`
	// SealKeysDir holds the keys that encrypt payloads in Redis, one per file. If it is empty, payloads are not encrypted.
	SealKeysDir string `env:"SEAL_KEYS_DIR" danger:": messages and one-time passwords are readable in Redis"`
	// Secrets that sign deliveries. During a rotation there are two, separated by a comma, the new one first.
	WebhookSecret  config.Secret `env:"WEBHOOK_SECRET"`
	CallbackSecret config.Secret `env:"CALLBACK_SECRET"`
}

// OutboxConfig holds the settings of the mailbox, which receives the messages of all channels without credentials.
type OutboxConfig struct {
	Enabled      bool `env:"ENABLED" envDefault:"true"`
	InProduction bool `env:"IN_PRODUCTION" envDefault:"false" danger:"true: messages go to a mailbox that anyone can read"`
}

func (c *Config) country() int { return phone.Country(c.DefaultCountryCode) }

// Load reads the settings from environ.
func Load(environ []string) (Config, error) {
	cfg := Config{}
	cfg.Ports(defaultGRPCPort, defaultAdminPort)
	err := config.Load(Prefix, &cfg, environ)
	return cfg, err
}

// OutboxEnabled reports whether messages go to the mailbox.
func (c *Config) OutboxEnabled() bool {
	return c.Outbox.Enabled && (!c.Telemetry.Production() || c.Outbox.InProduction)
}

// Validate rejects unknown values, and values that are not allowed in production.
func (c *Config) Validate() error {
	production := c.Telemetry.Production()
	return errors.Join(
		oneOf("ACCESS", c.Access, grpcapi.AccessAuthenticated, grpcapi.AccessOpen, grpcapi.AccessOff),
		oneOf("PROFILE", c.Queue.Profile, engine.Durable, engine.Attested, engine.Fast),
		oneOf("DOUBTFUL_SENDS", c.Queue.DoubtfulSends, doubtHold, doubtResend),
		refuse(c.DefaultCountryCode != "" && !phone.KnownCountry(c.country()), fmt.Sprintf("TASKQUEUE_DEFAULT_COUNTRY_CODE "+
			"is %q: give the calling code of a country in digits, 91", c.DefaultCountryCode)),
		refuse(production && c.Queue.Profile == engine.Fast, "TASKQUEUE_PROFILE is fast: in production accepted tasks "+
			"must survive; use durable, with appendfsync always or TASKQUEUE_WAIT_AOF=true"),
		refuse(production && c.AdminPage.Open && !c.AdminPage.Token.IsSet(), "TASKQUEUE_ADMIN_OPEN is true: in production "+
			"the queue's page needs TASKQUEUE_ADMIN_TOKEN"),
		refuse(production && c.Delivery.private() != "", "TASKQUEUE_ALLOWED_HOSTS names "+c.Delivery.private()+
			", which lifts the checks of addresses for every port of this network's own host: name the port as well, for example "+c.Delivery.private()+":8443"),
	)
}

// private returns the first host in TASKQUEUE_ALLOWED_HOSTS that is loopback or private and has no port, or an empty
// string.
func (c *DeliveryConfig) private() string {
	for _, host := range c.AllowedHosts {
		if _, _, err := net.SplitHostPort(host); err == nil {
			continue
		}
		address, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && httpserver.LocalName(host) {
			return host
		}
		if address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified() {
			return host
		}
	}
	return ""
}

func refuse(is bool, text string) error {
	if is {
		return errors.New(text)
	}
	return nil
}

// oneOf returns an error unless word is one of known.
func oneOf[Word ~string](name string, word Word, known ...Word) error {
	if slices.Contains(known, word) {
		return nil
	}
	return fmt.Errorf("TASKQUEUE_%s is %q: use one of %q", name, word, known)
}

// Validate rejects invalid origins, networks, rates and secrets.
func (c *DeliveryConfig) Validate() error {
	var problems []error
	for _, text := range c.InternalOrigins {
		if _, err := netguard.ParseOrigin(text); err != nil {
			problems = append(problems, fmt.Errorf("TASKQUEUE_INTERNAL_ORIGINS: %q: %w", text, err))
		}
	}
	_, networks := c.networks()
	_, rates := c.rates()
	_, webhooks := signer("WEBHOOK_SECRET", c.WebhookSecret)
	_, callbacks := signer("CALLBACK_SECRET", c.CallbackSecret)
	return errors.Join(append(problems, networks, rates, webhooks, callbacks)...)
}

func signer(name string, secret config.Secret) (*webhook.Signer, error) {
	s, err := webhook.NewSigner(secret.Reveal())
	if err != nil {
		return nil, fmt.Errorf("TASKQUEUE_%s: %w", name, err)
	}
	return s, nil
}

// rates returns the requests per second of single receivers, by origin.
func (c *DeliveryConfig) rates() (map[string]float64, error) {
	list := map[string]float64{}
	for _, text := range c.HostRates {
		origin, number, _ := strings.Cut(text, "=")
		perSecond, err := strconv.ParseFloat(number, 64)
		parsed, wrong := netguard.ParseOrigin(origin)
		if err != nil || wrong != nil || perSecond <= 0 {
			return nil, fmt.Errorf("TASKQUEUE_HOST_RATES: %q is not a rate like https://api.example.com=20", text)
		}
		list[parsed] = perSecond
	}
	return list, nil
}

func (c *DeliveryConfig) networks() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range c.InternalNetworks {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("TASKQUEUE_INTERNAL_NETWORKS: %q is not a network like 10.0.0.0/8", text)
		}
		list = append(list, p)
	}
	return list, nil
}

func (c *Config) engine() engine.Settings {
	s := engine.DefaultSettings()
	s.LaneLimit, s.FlowLimit = c.Queue.LaneLimit, c.Queue.LabLimit
	s.KeepResults = time.Duration(c.Queue.ResultHours) * time.Hour
	s.Archive = c.DatabaseEnabled
	if s.Archive {
		s.EndsLimit = max(1, c.Queue.ArchiveLimit/job.Shards)
	}
	s.WaitReplicas, s.WaitAOF = c.Queue.WaitReplicas, c.Queue.WaitAOF
	return s
}

// redis returns the options of the queue's own Redis.
func (c *Config) redis() *redis.UniversalOptions {
	options := redisdb.Options(c.Redis)
	options.MaxRetries = -1 // the engine decides which commands may be repeated
	return options
}
