package roster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
)

func testStack(t *testing.T) roster.Stack {
	t.Helper()
	plan, err := ports.Parse("20000")
	if err != nil {
		t.Fatal(err)
	}
	return roster.Stack{Ports: plan, Services: roster.Table(), RedisAddr: "127.0.0.1:20031",
		Secrets:      secrets.Secrets{Service: "s", Mobile: "m", Legacy: "l", Ephemeral: "e", Connector: "c", Blob: "b"},
		KafkaBrokers: "127.0.0.1:20033", ConnectURL: "http://127.0.0.1:20035", ConnectorPassword: "${file:x:password}", Elasticsearch: "http://127.0.0.1:20036",
		MySQL:    roster.MySQL{Host: "127.0.0.1", Port: "20030", User: "root", Database: "lab"},
		MongoURI: "mongodb://127.0.0.1:20032/", MongoDatabase: "lab", BlobURL: "file:///objects"}
}

func environment(t *testing.T, stack roster.Stack, name string, caller ...string) roster.Env {
	t.Helper()
	i := slices.IndexFunc(stack.Services, func(s roster.Service) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no service %s", name)
	}
	return stack.Services[i].Environment(stack, caller)
}

func TestAllServicesSendTheirTracesWhereTheStackCollectsThem(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	stack.TraceCollector = "127.0.0.1:20038"
	for _, service := range stack.Services {
		if got := environment(t, stack, service.Name)[service.Prefix+"_OPENTELEMETRY_ENDPOINT"]; got != stack.TraceCollector {
			t.Errorf("%s sends them to %q", service.Name, got)
		}
	}
}

func TestTheEnvironmentOfRerun(t *testing.T) {
	t.Parallel()
	got := environment(t, testStack(t), "rerun")
	want := roster.Env{
		"RERUN_HOST": "127.0.0.1", "RERUN_GRPC_PORT": "20013", "RERUN_ADMIN_PORT": "20023",
		"RERUN_DB_HOST": "127.0.0.1", "RERUN_DB_PORT": "20030", "RERUN_DB_USER": "root", "RERUN_DB_PASSWORD": "", "RERUN_DB_DATABASE": "lab",
		"RERUN_KV_HOST": "127.0.0.1", "RERUN_KV_PORT": "20031", "RERUN_KV_CONNECTION_TYPE": "standalone",
		"RERUN_SERVICE_TOKEN_SECRET": "s", "RERUN_JWT_SECRET": "m", "RERUN_PY2_JWT_SECRET": "l", "RERUN_EPHEMERAL_JWT_SECRET": "e",
		"RERUN_ENVIRONMENT": "dev", "RERUN_LOG_LEVEL": "INFO", "RERUN_DRAIN_DELAY_SECONDS": "0",
		"RERUN_MONGO_URI": "mongodb://127.0.0.1:20032/", "RERUN_MONGO_DATABASE": "lab", "DOCUMENT_DB_ENABLED": "true",
		"WEBHOOK_URL": "http://127.0.0.1:20001", "RERUN_TASKQUEUE_ADDR": "127.0.0.1:20014", "RERUN_CALLOUT_ADDR": "127.0.0.1:20016",
		"RERUN_EXTERNAL_EDIT_ADDR": "127.0.0.1:20012",
		"RERUN_CDC_ADDR":           "127.0.0.1:20019",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestAServiceGetsTheAddressesOfTheServicesThatItCalls(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	for name, want := range map[string]map[string]string{
		"callout":       {"CALLOUT_TASKQUEUE_ADDR": "127.0.0.1:20014", "CALLOUT_NOTIFICATIONS_ADDR": "127.0.0.1:20018", "CALLOUT_GRPC_PORT": "20016"},
		"notifications": {"NOTIFICATIONS_TASKQUEUE_ADDR": "127.0.0.1:20014", "NOTIFICATIONS_PUSH_PROVIDER": "mailbox", "NOTIFICATIONS_ADMIN_PORT": "20028"},
		"externaledit":  {"EXTERNAL_EDIT_BLOB_URL": "file:///objects", "EXTERNAL_EDIT_BLOB_SIGNING_SECRET": "b", "EXTERNAL_EDIT_GRPC_PORT": "20012"},
		"cellcounter":   {"CELL_COUNTER_GRPC_PORT": "20015", "CELL_COUNTER_DB_PORT": "20030", "CELL_COUNTER_JWT_SECRET": "m"},
		"billsplit":     {"BILL_SPLIT_GRPC_PORT": "20017", "BILL_SPLIT_KV_PORT": "20031", "BILL_SPLIT_SERVICE_TOKEN_SECRET": "s"},
	} {
		got := environment(t, stack, name)
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s: %s = %q, want %q", name, key, got[key], value)
			}
		}
	}
}

func TestServicesThatTheStackDoesNotStartAreNotNamed(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	stack.Services = slices.DeleteFunc(stack.Services, func(s roster.Service) bool { return s.Name == "callout" })
	rerun, gateway := environment(t, stack, "rerun"), environment(t, stack, "gateway")
	if addr, set := rerun["RERUN_CALLOUT_ADDR"]; set {
		t.Errorf("rerun is told of a callout at %s", addr)
	}
	if addr, set := gateway["GATEWAY_CALLOUT_ADDR"]; set {
		t.Errorf("the gateway is told of a callout at %s", addr)
	}
	if rerun["RERUN_TASKQUEUE_ADDR"] != "127.0.0.1:20014" {
		t.Errorf("rerun finds the task queue at %q", rerun["RERUN_TASKQUEUE_ADDR"])
	}
}

func TestTheCallersSettingsAreKeptButNotAddressesAndSecrets(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	got := environment(t, stack, "taskqueue", "TASKQUEUE_ALLOWED_HOSTS=10.0.0.1", "TASKQUEUE_RESULT_HOURS=3", "TASKQUEUE_DB_HOST=elsewhere",
		"TASKQUEUE_SERVICE_TOKEN_SECRET=mine", "RERUN_LOG_LEVEL=DEBUG", "HOME=/root")
	for key, want := range map[string]string{"TASKQUEUE_ALLOWED_HOSTS": "10.0.0.1", "TASKQUEUE_RESULT_HOURS": "3", "TASKQUEUE_DB_HOST": "127.0.0.1",
		"TASKQUEUE_SERVICE_TOKEN_SECRET": "s", "TASKQUEUE_INTERNAL_ORIGINS": "http://127.0.0.1:20001", "RERUN_LOG_LEVEL": "", "HOME": ""} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q", key, got[key], want)
		}
	}
	if got := environment(t, stack, "taskqueue")["TASKQUEUE_ALLOWED_HOSTS"]; got != "127.0.0.1" {
		t.Errorf("TASKQUEUE_ALLOWED_HOSTS = %q", got)
	}
	if got := environment(t, stack, "rerun", "DOCUMENT_DB_ENABLED=false")["DOCUMENT_DB_ENABLED"]; got != "false" {
		t.Errorf("DOCUMENT_DB_ENABLED = %q", got)
	}
}

func TestAQueueOnALesserRedisRunsFast(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	if _, set := environment(t, stack, "taskqueue")["TASKQUEUE_PROFILE"]; set {
		t.Error("the profile is set for our own Redis")
	}
	stack.FastQueue = true
	if got := environment(t, stack, "taskqueue")["TASKQUEUE_PROFILE"]; got != "fast" {
		t.Errorf("TASKQUEUE_PROFILE = %q", got)
	}
}

func TestTheEnvironmentOfCDC(t *testing.T) {
	t.Parallel()
	got := environment(t, testStack(t), "cdc", "CDC_TOPIC_RETENTION=1h", "CDC_KAFKA_BROKERS=elsewhere:9092", "CDC_TOPIC_PREFIX=x.y")
	for key, want := range map[string]string{
		"CDC_KAFKA_BROKERS": "127.0.0.1:20033", "CDC_CONNECT_URL": "http://127.0.0.1:20035", "CDC_ES_URL": "http://127.0.0.1:20036",
		"CDC_TOPIC_PREFIX": "lab.lab", "CDC_TOPIC_REPLICATION": "1", "CDC_TOPIC_MIN_INSYNC": "1", "CDC_INDEX_REPLICAS": "0",
		"CDC_CONNECTOR_DB_HOST": "127.0.0.1", "CDC_CONNECTOR_DB_PORT": "20030", "CDC_CONNECTOR_DB_USER": "cdc_connector",
		"CDC_CONNECTOR_DB_PASSWORD": "${file:x:password}", "CDC_TOPIC_RETENTION": "1h",
		"CDC_GRPC_PORT": "20019", "CDC_ADMIN_PORT": "20029", "CDC_DB_DATABASE": "lab",
	} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q", key, got[key], want)
		}
	}
	if user := environment(t, testStack(t), "cdc", "CDC_CONNECTOR_DB_USER=mine")["CDC_CONNECTOR_DB_USER"]; user != "mine" {
		t.Errorf("the caller's user of the database became %q", user)
	}
}

func TestTheEnvironmentOfSearch(t *testing.T) {
	t.Parallel()
	got := environment(t, testStack(t), "search", "SEARCH_ES_URL=http://elsewhere:9200", "SEARCH_RATE_LIMIT_PER_MINUTE=7")
	for key, want := range map[string]string{
		"SEARCH_HOST": "127.0.0.1", "SEARCH_PORT": "20021", "SEARCH_GRPC_PORT": "20011", "SEARCH_ES_URL": "http://127.0.0.1:20036",
		"SEARCH_RATE_LIMIT_KV_URL": "redis://127.0.0.1:20031", "SEARCH_RATE_LIMIT_PER_MINUTE": "7", "SEARCH_DB_DATABASE": "lab",
	} {
		if got[key] != want {
			t.Errorf("%s = %q, want %q", key, got[key], want)
		}
	}
	if port, set := got["SEARCH_ADMIN_PORT"]; set {
		t.Errorf("there is no second port, yet SEARCH_ADMIN_PORT is %s", port)
	}
}

func TestAStackWithoutPipelineHasNoServiceOfIt(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	stack.Services, stack.KafkaBrokers = roster.WithoutPipeline(roster.Table()), ""
	if slices.ContainsFunc(stack.Services, func(s roster.Service) bool { return s.Name == "cdc" }) || len(stack.Services) == 0 {
		t.Fatalf("services %v", stack.Services)
	}
	if addr, set := environment(t, stack, "rerun")["RERUN_CDC_ADDR"]; set {
		t.Errorf("rerun is told of a cdc at %s", addr)
	}
}

func TestTheGatewayKnowsEveryServiceThatIsStarted(t *testing.T) {
	t.Parallel()
	stack := testStack(t)
	got := environment(t, stack, "gateway")
	for _, service := range stack.Services {
		if service.CallPort == "" || service.Internal {
			continue
		}
		if addr := got["GATEWAY_"+service.Prefix+"_ADDR"]; addr != stack.Ports.Addr(service.CallPort) {
			t.Errorf("address of %s = %q", service.Name, addr)
		}
	}
	for key := range got {
		if strings.HasPrefix(key, "GATEWAY_CDC") {
			t.Errorf("%s is set", key)
		}
	}
}
