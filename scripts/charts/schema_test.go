package charts

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// object types of JSON Schema.
type schema = map[string]any

// special are the values whose default does not say all about them, by the end of their path.
var special = map[string]schema{
	"image.repository": {"type": "string", "minLength": 1}, "existingSecret": {"type": "string", "minLength": 1}, "tls.existingSecret": {"type": "string"},
	"image.digest":       {"type": "string", "pattern": "^$|^sha256:[0-9a-f]{64}$"},
	"image.pullPolicy":   oneOf("Always", "IfNotPresent", "Never"),
	"environment":        oneOf("dev", "staging", "production"),
	"logLevel":           oneOf("DEBUG", "INFO", "WARN", "ERROR"),
	"connectionType":     oneOf("cluster", "standalone"),
	"spreadOverNodes":    oneOf("ScheduleAnyway", "DoNotSchedule"),
	"tls.issuer.kind":    oneOf("Issuer", "ClusterIssuer"),
	"strimzi.database":   oneOf("mariadb", "mysql"),
	"strimzi.apiVersion": oneOf("kafka.strimzi.io/v1beta2", "kafka.strimzi.io/v1"),
	"host":               {"type": "string", "minLength": 1}, "ingress.host": {"type": "string"}, "strimzi.connect.image": {"type": "string"},
	"port":                     {"type": "integer", "minimum": 1, "maximum": 65535},
	"searchIndex.url":          {"type": "string", "pattern": "^https?://[^/]+"},
	"connect.url":              {"type": "string", "pattern": "^https?://[^/]+"},
	"objectStore.url":          {"type": "string", "pattern": "^s3://[^/]+$"},
	"telemetry.otlpEndpoint":   {"type": "string", "pattern": "^$|:[0-9]+$"},
	"telemetry.sampleRate":     {"type": "number", "minimum": 0, "maximum": 1},
	"kafka.brokers":            {"type": "array", "minItems": 1, "items": schema{"type": "string", "pattern": "^[^/]+:[0-9]+$"}},
	"autoscaling.metricTarget": {"type": "string", "pattern": "^$|^[0-9]+m?$"},
	"autoscaling.minReplicas":  {"type": "integer", "minimum": 1}, "autoscaling.maxReplicas": {"type": "integer", "minimum": 1},
	"autoscaling.cpu":         {"type": "string", "pattern": "^$|^[0-9.]+m?$"},
	"internetPorts":           {"type": "array", "items": schema{"type": "integer", "minimum": 1, "maximum": 65535}},
	"serviceMonitor.interval": {"type": "string", "pattern": "^[0-9]+(ms|s|m)$"},
	"nodeSelector":            texts(), "podAnnotations": texts(), "annotations": texts(), "labels": texts(),
	"podLabels": texts(), "podSecurityContext": {"type": "object"},
	"sentinels":       {"type": "array", "items": schema{"type": "string", "pattern": "^[^/]+:[0-9]+$"}},
	"kafka.mechanism": oneOf("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), "hostnames": {"type": "array", "items": schema{"type": "string"}},
	"objectStore.endpoint": {"type": "string", "pattern": "^$|^https?://[^/]+$"}, "migration.secretKeys": {"type": "object"},
	"affinity": {"type": "object"}, "requests": quantities(), "limits": quantities(),
}

func oneOf(words ...string) schema { return schema{"type": "string", "enum": words} }

func texts() schema {
	return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
}

func quantities() schema {
	return schema{"type": "object", "additionalProperties": schema{"type": []string{"string", "number"}}}
}

// describe returns the schema of a value from its default.
func describe(path string, value any) schema {
	for end, s := range special {
		if path == end || strings.HasSuffix(path, "."+end) {
			if _, exact := special[path]; !exact || path == end {
				return s
			}
		}
	}
	switch v := value.(type) {
	case map[string]any:
		properties := schema{}
		for name, inner := range v {
			properties[name] = describe(strings.TrimPrefix(path+"."+name, "."), inner)
		}
		return schema{"type": "object", "additionalProperties": false, "properties": properties}
	case []any:
		return schema{"type": "array", "items": schema{"type": "object"}}
	case bool:
		return schema{"type": "boolean"}
	case float64:
		return schema{"type": "integer", "minimum": 0}
	}
	if strings.HasPrefix(path, "addresses.") {
		return schema{"type": "string", "pattern": "^$|^[^/]+:[0-9]+$"}
	}
	return schema{"type": "string"}
}

// schemaOf returns the text of a chart's values.schema.json.
func schemaOf(t *testing.T, name string) string {
	t.Helper()
	all := describe("", values(t, filepath.Join(root, name, "values.yaml")))
	properties := all["properties"].(schema)
	settings, secrets := schema{}, schema{}
	for _, v := range free(t, name) {
		settings[v] = schema{"type": []string{"string", "number", "boolean"}}
	}
	for _, v := range secretNames(t, name) {
		secrets[v] = describe("", map[string]any{"name": "", "key": ""})
	}
	properties["settings"] = schema{"type": "object", "additionalProperties": false, "properties": settings}
	properties["secretKeys"] = schema{"type": "object", "additionalProperties": false, "properties": secrets}
	properties["global"], properties["labkit"] = schema{"type": "object"}, schema{"type": "object"} // Helm's own
	all["$schema"] = "http://json-schema.org/draft-07/schema#"
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestSchemasAreThoseOfTheValues(t *testing.T) {
	for _, name := range names(t) {
		golden(t, filepath.Join(root, name, "values.schema.json"), schemaOf(t, name))
	}
}

func TestWrongValuesAreRefusedWithTheirPath(t *testing.T) {
	t.Parallel()
	wrong := map[string]map[string]any{
		"/replicaz":                {"replicaz": 3},
		"/replicas":                {"replicas": "three"},
		"/image/digest":            {"image": map[string]any{"digest": "latest"}},
		"/image/pullPolicy":        {"image": map[string]any{"pullPolicy": "Sometimes"}},
		"/existingSecret":          {"existingSecret": ""},
		"/environment":             {"environment": "prod"},
		"/settings":                {"settings": map[string]any{"DB_PASWORD": "x"}},
		"/secretKeys":              {"secretKeys": map[string]any{"DB_PASWORD": map[string]any{"name": "x"}}},
		"/shutdown/preStopSeconds": {"shutdown": map[string]any{"preStopSeconds": -1}},
		"/tls/issuer/kind":         {"tls": map[string]any{"issuer": map[string]any{"kind": "Friend"}}},
		"/telemetry":               {"telemetry": map[string]any{"otlpEndpoint": "collector"}},
		"/resources/limits/memory": {"resources": map[string]any{"limits": map[string]any{"memory": true}}},
		"/networkPolicy/enabled":   {"networkPolicy": map[string]any{"enabled": "no"}},
	}
	for _, name := range names(t) {
		for _, path := range slices.Sorted(maps.Keys(wrong)) {
			_, err := render(load(t, name), wrong[path])
			last := path[strings.LastIndex(path, "/")+1:]
			if err == nil || !strings.Contains(err.Error(), last) {
				t.Errorf("%s: %s gave %v", name, path, err)
			}
		}
	}
}

func TestTLSWithoutIssuerSaysWhatToSet(t *testing.T) {
	t.Parallel()
	_, err := render(load(t, "rerun"), map[string]any{"tls": map[string]any{"enabled": true}})
	if err == nil || !strings.Contains(err.Error(), "tls.issuer.name must name") {
		t.Error(err)
	}
}
