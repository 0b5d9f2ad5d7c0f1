package stack

import (
	"strings"
	"text/template"

	"github.com/labplatform/labplatform/scripts/devstack/endpoints"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
)

// endpoints returns the content of endpoints.json.
func (r *running) endpoints() endpoints.Endpoints {
	e := endpoints.Endpoints{
		Gateway:              r.stack.URL(ports.Gateway),
		GatewayInternal:      r.stack.URL(ports.GatewayInternal),
		TaskqueueOutbox:      r.stack.URL(ports.Admin("taskqueue")) + "/outbox/",
		TaskqueueAdminPage:   r.stack.URL(ports.Admin("taskqueue")) + "/queue-admin/",
		MySQLDSN:             r.target,
		RedisAddr:            r.stack.RedisAddr,
		MongoURI:             r.stack.MongoURI,
		MongoDatabase:        r.stack.MongoDatabase,
		BlobURL:              r.stack.BlobURL,
		InternalTokenCommand: []string{r.Binary, "--dir", r.Settings.Dir, "print-internal-token"},
		JWTSecrets: endpoints.JWTSecrets{Mobile: r.stack.Secrets.Mobile, Legacy: r.stack.Secrets.Legacy,
			Ephemeral: r.stack.Secrets.Ephemeral},
		GRPC:     map[string]string{},
		PIDs:     map[string]int{},
		Commands: map[string][]string{},
		Environ:  map[string]map[string]string{},
	}
	if r.Settings.Pipeline {
		e.KafkaBrokers, e.TopicPrefix = strings.Split(r.stack.KafkaBrokers, ","), r.stack.TopicPrefix()
		e.Connector, e.Elasticsearch, e.CDC = r.stack.ConnectURL, r.stack.Elasticsearch, r.stack.URL(ports.Admin("cdc"))
		e.Search = r.stack.URL(ports.Admin("search"))
	}
	for _, service := range r.Services {
		if service.CallPort != "" {
			e.GRPC[service.Name] = r.stack.Ports.Addr(service.CallPort)
		}
	}
	for _, child := range append(r.engines, r.services...) {
		e.PIDs[child.Name], e.Commands[child.Name] = child.PID, child.Command
		e.Environ[child.Name] = environ(r.environ[child.Name])
	}
	return e
}

// environ replaces nil by an empty map, so that endpoints.json never has null. Engines have no variables.
func environ(env roster.Env) map[string]string {
	out := make(map[string]string, len(env))
	for key, value := range env {
		out[key] = value
	}
	return out
}

// printSummary writes the addresses of the stack and how to try it.
func (r *running) printSummary() {
	traces := ""
	if r.Settings.Traces {
		traces = r.stack.URL(ports.TraceViewer)
	}
	_ = template.Must(template.New("summary").Parse(summary)).Execute(r.Out, map[string]any{
		"Gateway":       r.stack.URL(ports.Gateway),
		"Internal":      r.stack.URL(ports.GatewayInternal),
		"Outbox":        r.stack.URL(ports.Admin("taskqueue")) + "/outbox/",
		"Queue":         r.stack.URL(ports.Admin("taskqueue")) + "/queue-admin/",
		"MySQL":         r.target,
		"Redis":         r.stack.RedisAddr,
		"Mongo":         r.stack.MongoURI,
		"Blob":          r.stack.BlobURL,
		"Dir":           r.Settings.Dir,
		"Logs":          r.Settings.Log("*"),
		"Traces":        traces,
		"Demo":          r.Settings.Seed == settings.SeedDemo,
		"Pipeline":      r.Settings.Pipeline,
		"Search":        r.stack.URL(ports.Admin("search")),
		"Kafka":         r.stack.KafkaBrokers,
		"Topics":        r.stack.TopicPrefix(),
		"Connect":       r.stack.ConnectURL,
		"Elasticsearch": r.stack.Elasticsearch,
		"Token":         strings.Join([]string{r.Binary, "--dir", r.Settings.Dir, "print-internal-token"}, " "),
	})
}
