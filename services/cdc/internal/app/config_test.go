package app_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/cdc/internal/app"
)

const secret = "CDC_SERVICE_TOKEN_SECRET=a-service-token-secret-of-32-bytes"

func TestDefaultsAreWhole(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{secret})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Admin.AdminPort != 8080 || cfg.GRPC.GRPCPort != 9011 || cfg.Kafka.Group != "cdc-unified" || cfg.Topics.Replication != 3 || cfg.Topics.MinInSync != 2 {
		t.Errorf("documented constants: %+v", cfg)
	}
	if cfg.Connect.DBHost != cfg.DB.Host || cfg.Connect.DBPort != cfg.DB.Port || cfg.Connect.Brokers != "127.0.0.1:19092" {
		t.Errorf("the connectors reach what the service reaches: %+v", cfg.Connect)
	}
}

func TestSettingsThatWouldLoseOrDelayRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"CDC_CONSUMER_GROUP=mine":           "set it to cdc-unified",
		"CDC_PHASE_OVERRIDE=sleeping":       "give running or migration",
		"CDC_TOPIC_PREFIX=lab":              "topic.prefix, a dot and the database name",
		"CDC_TOPIC_PREFIX=lab.other":        "the topics would be another database's",
		"CDC_TOPIC_REPLICATION=1":           "no write could ever be acknowledged",
		"CDC_CONNECTORS_APPLY=sometimes":    "give start or never",
		"CDC_CONNECT_URL=connect:8083":      "address of Kafka Connect's REST",
		"CDC_KAFKA_VERSION=new":             "give a version like 3.6.0",
		"CDC_KAFKA_USER=lab":                "a password is not sent in clear",
		"CDC_PURGE_AFTER=24h":               "must be longer than TOPIC_RETENTION",
		"CDC_DEAD_LETTER_LIMIT_PERCENT=101": "0 to 100",
		"CDC_BATCH_RECORDS=0":               "must be above zero",
		"CDC_BULK_OPERATIONS=0":             "above zero",
		"CDC_DB_POOL_SIZE=1":                "at least 2",
		"CDC_ES_URL=localhost:9200":         "http://host:9200",
		"CDC_INDEX_SHARDS=0":                "at least 1",
		"CDC_CONNECTOR_HEARTBEAT=0s":        "above zero",
	} {
		if _, err := app.Load([]string{secret, setting}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
