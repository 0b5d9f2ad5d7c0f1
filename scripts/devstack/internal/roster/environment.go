package roster

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
)

// Stack holds the addresses and secrets that the services' environments are made from.
type Stack struct {
	Ports         ports.Plan
	Services      []Service // all services that this stack starts
	Secrets       secrets.Secrets
	MySQL         MySQL
	RedisAddr     string
	FastQueue     bool // set when an external Redis may lose writes (see engines.RedisKeepsEverything)
	MongoURI      string
	MongoDatabase string
	BlobURL       string
	DemoFile      string // the users who can sign in without a password; "" without the demo laboratory

	TraceCollector string // host:port; "" when traces are not collected

	// Engines of change capture and search; "" in a stack without them.
	KafkaBrokers      string // host:port, separated by commas
	ConnectURL        string
	ConnectorPassword string // a reference that Kafka Connect resolves
	Elasticsearch     string // URL
}

// Names that change capture uses: the prefix of its topics and its database user.
const (
	topicPrefix   = "lab" // Debezium's topic.prefix; the database name follows in a topic's name
	ConnectorUser = "cdc_connector"
)

// TopicPrefix returns the first part of the data topics' names, without the dot before the table name.
func (s Stack) TopicPrefix() string { return topicPrefix + "." + s.MySQL.Database }

// MySQL is the address and login of the stack's database, in the form that the services' settings have.
type MySQL struct{ Host, Port, User, Password, Database string }

// URL returns the base address of an HTTP listener of the stack.
func (s Stack) URL(name ports.Name) string { return "http://" + s.Ports.Addr(name) }

// Environment returns the variables of the service's process. caller is the caller's environment, as KEY=value.
// Addresses, ports and secrets are always the stack's; other variables of the caller with the service's prefix are
// kept.
func (s Service) Environment(stack Stack, caller []string) Env {
	fixed, defaults := s.common(stack)
	var ownFixed, ownDefaults Env
	if s.Env != nil {
		ownFixed, ownDefaults = s.Env(stack)
	}
	env := Env{}
	maps.Copy(env, defaults)
	maps.Copy(env, ownDefaults)
	for _, pair := range caller {
		key, value, _ := strings.Cut(pair, "=")
		if _, known := env[key]; known || strings.HasPrefix(key, s.Prefix+"_") {
			env[key] = value
		}
	}
	maps.Copy(env, fixed)
	maps.Copy(env, ownFixed)
	return env
}

// common returns the variables that every service gets under its own prefix. The drain delay is 0, because the stack
// has no load balancer that must first notice a stop.
func (s Service) common(stack Stack) (fixed, defaults Env) {
	fixed = Env{
		"HOST":                 "127.0.0.1",
		s.AdminVariable:        strconv.Itoa(stack.Ports.Port(s.HealthPort)),
		"SERVICE_TOKEN_SECRET": stack.Secrets.Service,
	}
	if s.CallPort != "" { // the service has stores and verifies users' tokens
		fixed["GRPC_PORT"] = strconv.Itoa(stack.Ports.Port(s.CallPort))
		maps.Copy(fixed, stack.stores())
	}
	maps.Copy(fixed, s.callees(stack))
	if stack.TraceCollector != "" {
		fixed["OPENTELEMETRY_ENDPOINT"] = stack.TraceCollector
	}
	return fixed.prefixed(
			s.Prefix,
		), Env{
			"ENVIRONMENT":         "dev",
			"LOG_LEVEL":           "INFO",
			"DRAIN_DELAY_SECONDS": "0",
		}.prefixed(
			s.Prefix,
		)
}

// callees returns the addresses of the services that this one calls, as far as this stack starts them.
func (s Service) callees(stack Stack) Env {
	addresses := Env{}
	for _, service := range stack.Services {
		if slices.Contains(s.Callees, service.Name) {
			addresses[service.Prefix+"_ADDR"] = stack.Ports.Addr(service.CallPort)
		}
	}
	return addresses
}

// stores returns the settings of the database and of the sessions' Redis, and the secrets of user tokens.
func (s Stack) stores() Env {
	host, port, _ := net.SplitHostPort(s.RedisAddr)
	return Env{
		"DB_HOST":              s.MySQL.Host,
		"DB_PORT":              s.MySQL.Port,
		"DB_USER":              s.MySQL.User,
		"DB_PASSWORD":          s.MySQL.Password,
		"DB_DATABASE":          s.MySQL.Database,
		"KV_HOST":              host,
		"KV_PORT":              port,
		"KV_CONNECTION_TYPE":   "standalone",
		"JWT_SECRET":           s.Secrets.Mobile,
		"PY2_JWT_SECRET":       s.Secrets.Legacy,
		"EPHEMERAL_JWT_SECRET": s.Secrets.Ephemeral,
	}
}

func (e Env) prefixed(prefix string) Env {
	out := make(Env, len(e))
	for key, value := range e {
		out[prefix+"_"+key] = value
	}
	return out
}

// Pairs returns the variables as KEY=value, sorted.
func (e Env) Pairs() []string {
	pairs := make([]string, 0, len(e))
	for key, value := range e {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return pairs
}

// gatewayEnv returns the addresses of all services that this stack starts. The gateway responds 501 for the areas of
// missing ones.
func gatewayEnv(stack Stack) (fixed, defaults Env) {
	fixed = Env{
		"GATEWAY_PORT":          strconv.Itoa(stack.Ports.Port(ports.Gateway)),
		"GATEWAY_INTERNAL_PORT": strconv.Itoa(stack.Ports.Port(ports.GatewayInternal)),
	}
	for _, service := range stack.Services {
		if service.CallPort != "" && !service.Internal {
			fixed["GATEWAY_"+service.Prefix+"_ADDR"] = stack.Ports.Addr(service.CallPort)
		}
	}
	return fixed, Env{"GATEWAY_DEMO_SIGN_IN": stack.DemoFile}
}

// cdcEnv returns the engines' addresses and the connectors' database login. On one machine, topics and indices have no
// replicas.
func cdcEnv(stack Stack) (fixed, defaults Env) {
	return Env{
			"CDC_KAFKA_BROKERS": stack.KafkaBrokers,
			"CDC_CONNECT_URL":   stack.ConnectURL,
			"CDC_ES_URL":        stack.Elasticsearch,
			"CDC_TOPIC_PREFIX":  stack.TopicPrefix(),
		}, Env{
			"CDC_TOPIC_REPLICATION":     "1", // no replicas on one machine
			"CDC_TOPIC_MIN_INSYNC":      "1",
			"CDC_INDEX_REPLICAS":        "0",
			"CDC_CONNECTOR_DB_HOST":     stack.MySQL.Host,
			"CDC_CONNECTOR_DB_PORT":     stack.MySQL.Port,
			"CDC_CONNECTOR_DB_USER":     ConnectorUser,
			"CDC_CONNECTOR_DB_PASSWORD": stack.ConnectorPassword,
		}
}

func rerunEnv(stack Stack) (fixed, defaults Env) {
	return Env{
		"RERUN_MONGO_URI": stack.MongoURI, "RERUN_MONGO_DATABASE": stack.MongoDatabase,
		"WEBHOOK_URL": stack.URL(ports.GatewayInternal),
	}, Env{"DOCUMENT_DB_ENABLED": "true"}
}

// calloutEnv returns the URL of the gateway, to which the task queue posts when an escalation is due.
func calloutEnv(stack Stack) (fixed, defaults Env) {
	return Env{"WEBHOOK_URL": stack.URL(ports.GatewayInternal)}, nil
}

// externalEditEnv makes the service sign the URLs of files and serve the files itself.
func externalEditEnv(stack Stack) (fixed, defaults Env) {
	return Env{
		"EXTERNAL_EDIT_BLOB_URL": stack.BlobURL, "EXTERNAL_EDIT_BLOB_SIGNING_SECRET": stack.Secrets.Blob,
		"EXTERNAL_EDIT_BLOB_PUBLIC_URL": stack.URL(ports.ExternalEditFiles) + "/files",
		"EXTERNAL_EDIT_FILES_PORT":      strconv.Itoa(stack.Ports.Port(ports.ExternalEditFiles)),
		"EXTERNAL_EDIT_TOKEN_SECRET":    stack.Secrets.EditToken,
	}, nil
}

// notificationsEnv selects the simulated push provider: messages are shown on a page, no device gets one.
func notificationsEnv(stack Stack) (fixed, defaults Env) {
	return nil, Env{"NOTIFICATIONS_PUSH_PROVIDER": "mailbox", "NOTIFICATIONS_TOPIC_KEY": stack.Secrets.Topic}
}

// searchEnv returns the engine's address, and the stack's Redis, in which operators switch the rate limit's mode.
func searchEnv(stack Stack) (fixed, defaults Env) {
	return Env{"SEARCH_ES_URL": stack.Elasticsearch}, Env{"SEARCH_RATE_LIMIT_KV_URL": "redis://" + stack.RedisAddr}
}

// taskqueueEnv allows callbacks to this machine, on any port, and to no other address that is not public. The
// operators' page needs no token, unless the caller's settings have one.
func taskqueueEnv(stack Stack) (fixed, defaults Env) {
	host, port, _ := net.SplitHostPort(stack.RedisAddr)
	defaults = Env{"TASKQUEUE_ALLOWED_HOSTS": "127.0.0.1", "TASKQUEUE_ADMIN_OPEN": "true",
		"TASKQUEUE_DEFAULT_COUNTRY_CODE": "91", "TASKQUEUE_CALLBACK_SECRET": "whsec_" + stack.Secrets.Callback}
	if stack.FastQueue {
		defaults["TASKQUEUE_PROFILE"] = "fast"
	}
	return Env{
		"TASKQUEUE_REDIS_HOST": host, "TASKQUEUE_REDIS_PORT": port, "TASKQUEUE_REDIS_CONNECTION_TYPE": "standalone",
		"TASKQUEUE_INTERNAL_ORIGINS": stack.URL(ports.GatewayInternal),
	}, defaults
}
