package charts

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// schema is an object of JSON Schema.
type schema = map[string]any

// special maps the end of a value's path to its schema, where the default does not determine it.
var special = map[string]schema{
	"image.repository": {"type": "string", "minLength": 1}, "existingSecret": {"type": "string", "minLength": 1}, "tls.existingSecret": {"type": "string"},
	"image.digest":       {"type": "string", "pattern": "^$|^sha256:[0-9a-f]{64}$"},
	"image.pullPolicy":   oneOf("Always", "IfNotPresent", "Never"),
	"environment":        oneOf("", "dev", "staging", "production"),
	"logLevel":           oneOf("DEBUG", "INFO", "WARN", "ERROR"),
	"connectionType":     oneOf("cluster", "standalone"),
	"spreadOverNodes":    oneOf("ScheduleAnyway", "DoNotSchedule"),
	"tls.issuer.kind":    oneOf("Issuer", "ClusterIssuer"),
	"strimzi.database":   oneOf("mariadb", "mysql"),
	"strimzi.apiVersion": oneOf("kafka.strimzi.io/v1beta2", "kafka.strimzi.io/v1"),
	"host":               {"type": "string", "minLength": 1}, "strimzi.connect.image": {"type": "string"},
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
	"blackbox.interval":       {"type": "string", "pattern": "^[0-9]+(ms|s|m)$"}, "blackbox.targets": words(),
	"nodeSelector": texts(), "podAnnotations": texts(), "annotations": texts(), "labels": texts(),
	"podLabels": texts(), "deploymentAnnotations": texts(), "serviceAnnotations": texts(), "podSecurityContext": {"type": "object"},
	"podDisruptionBudget.maxUnavailable": {"type": []string{"integer", "string"}, "minimum": 0, "pattern": "^[0-9]+%$"},
	"serviceMonitor.scrapeTimeout":       {"type": "string", "pattern": "^$|^[0-9]+(ms|s|m)$"},
	"connectorSecret":                    {"type": "string", "minLength": 1},
	"sentinels":                          {"type": "array", "items": schema{"type": "string", "pattern": "^[^/]+:[0-9]+$"}},
	"kafka.mechanism":                    oneOf("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"), "hostnames": words(), "ingress.hosts": words(),
	"objectStore.endpoint": {"type": "string", "pattern": "^$|^https?://[^/]+$"},
	"affinity":             {"type": "object"}, "requests": quantities(), "limits": quantities(),
	"prometheusRule.alertLabels": texts(), "prometheusRule.disabled": {"type": "array", "items": oneOf(allAlerts()...)},
}

func oneOf(words ...string) schema { return schema{"type": "string", "enum": words} }

func words() schema {
	return schema{"type": "array", "items": schema{"type": "string", "minLength": 1}}
}

func texts() schema {
	return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
}

func quantities() schema {
	return schema{"type": "object", "additionalProperties": schema{"type": []string{"string", "number"}}}
}

// safe maps settings to the values that are allowed in environments with patients. The services refuse some of the
// others, too; an installation that needs another one sets it in extraEnv.
var safe = map[string][]any{
	"DEMO_SIGN_IN": {""}, "ADMIN_OPEN": off, "ADMIN_SHOW_PAYLOADS": off, "OUTBOX_IN_PRODUCTION": off, "ALLOW_HTTP": off,
	"ES_CAPTURE_SEARCH_QUERY": off, "PROFILING": off, "ACCESS": {"", "authenticated", "off"},
	"PROFILE": {"", "durable", "attested"}, "PUSH_PROVIDER": {"fcm", "off"},
}

var off = []any{false, "false", ""}

// withPatients returns the schema for production and staging: only safe values of the chart's settings.
func withPatients(settings schema) schema {
	limited := schema{}
	for name := range settings {
		if values, ok := safe[name]; ok {
			limited[name] = schema{"enum": values}
		}
	}
	return schema{"properties": schema{"settings": schema{"properties": limited}}}
}

// variables returns the schema of extraEnv. It allows secrets by reference only, and not the environment, which has a
// value of the chart.
func variables(prefix string, secrets []string) schema {
	inline := schema{"required": []string{"name", "value"}, "properties": schema{"name": schema{"enum": secrets}}}
	environment := schema{"required": []string{"name"}, "properties": schema{"name": schema{"const": prefix + "ENVIRONMENT"}}}
	return schema{"type": "array", "items": schema{"type": "object", "allOf": []schema{{"not": inline}, {"not": environment}}}}
}

// describe returns the schema of a value, derived from its default.
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
	settings := schema{}
	for _, v := range free(t, name) {
		settings[v] = schema{"type": []string{"string", "number", "boolean"}}
	}
	secretVariables := []string{}
	for _, v := range secretNames(t, name) {
		secretVariables = append(secretVariables, prefix(t, name)+v)
	}
	properties["extraEnv"] = variables(prefix(t, name), secretVariables)
	all["if"] = schema{"not": schema{"anyOf": dev()}}
	all["then"] = withPatients(settings)
	properties["settings"] = schema{"type": "object", "additionalProperties": false, "properties": settings}
	all["definitions"] = schema{"place": describe("", map[string]any{"name": "", "key": ""})}
	properties["secretKeys"] = places(secretNames(t, name))
	if migration, has := properties["migration"].(schema); has {
		migration["properties"].(schema)["secretKeys"] = places(secretNames(t, name))
	}
	properties["global"], properties["labkit"] = globalOf(t, properties), schema{"type": "object"} // values of Helm itself
	return text07(t, all)
}

// places returns the schema of secretKeys: a Secret and a key for each of these variables.
func places(variables []string) schema {
	of := schema{}
	for _, v := range variables {
		of[v] = schema{"$ref": "#/definitions/place"}
	}
	return schema{"type": "object", "additionalProperties": false, "properties": of}
}

func text07(t *testing.T, s schema) string {
	t.Helper()
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestSchemasAreThoseOfTheValues(t *testing.T) {
	for _, name := range names(t) {
		golden(t, filepath.Join(root, name, "values.schema.json"), schemaOf(t, name))
	}
	golden(t, filepath.Join(root, umbrella, "values.schema.json"), umbrellaSchema(t))
	golden(t, filepath.Join(root, engines, "values.schema.json"), enginesSchema(t))
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
		"/probes/liveness":         {"probes": map[string]any{"liveness": map[string]any{"path": "/health"}}},
		"/podDisruptionBudget":     {"podDisruptionBudget": map[string]any{"maxUnavailable": "one"}},
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

// TestDangerousSettingsAreRefusedWherePatientsAre checks that each dangerous value is refused in environments with
// patients, and allowed in others.
func TestDangerousSettingsAreRefusedWherePatientsAre(t *testing.T) {
	t.Parallel()
	dangerous := map[string][]any{
		"ACCESS": {"open"}, "PROFILE": {"fast"}, "PUSH_PROVIDER": {"mailbox"}, "DEMO_SIGN_IN": {"/people.json"},
	}
	for name, values := range safe {
		if values[0] == false {
			dangerous[name] = []any{true, "true", "T", "1", 1}
		}
	}
	tried := map[string]bool{}
	for _, name := range names(t) {
		for _, setting := range free(t, name) {
			for _, value := range dangerous[setting] {
				tried[setting] = true
				for environment, refused := range map[string]bool{"production": true, "staging": true, "dev": false} {
					_, err := render(load(t, name), map[string]any{"environment": environment, "settings": map[string]any{setting: value}})
					if (err != nil) != refused || refused && !strings.Contains(err.Error(), setting) {
						t.Errorf("%s: %s=%v in %s: %v, want it refused: %t", name, setting, value, environment, err, refused)
					}
				}
			}
		}
	}
	if len(tried) != len(safe) {
		t.Errorf("tried %v of %d settings, want all", slices.Sorted(maps.Keys(tried)), len(safe))
	}
}

// TestExtraVariablesBringNoSecretAndNoEnvironment checks that extraEnv accepts neither secrets nor the environment,
// because Helm stores values with every release.
func TestExtraVariablesBringNoSecretAndNoEnvironment(t *testing.T) {
	t.Parallel()
	for _, name := range names(t) {
		p := prefix(t, name)
		for variable, refused := range map[string]bool{"SERVICE_TOKEN_SECRET": true, "ENVIRONMENT": true, "X": false} {
			_, err := render(load(t, name), map[string]any{"extraEnv": []any{map[string]any{"name": p + variable, "value": "short"}}})
			if (err != nil) != refused {
				t.Errorf("%s: %s in extraEnv: %v, want it refused: %t", name, variable, err, refused)
			}
		}
		reference := map[string]any{"secretKeyRef": map[string]any{"name": "x", "key": "y"}}
		if _, err := render(load(t, name), map[string]any{"extraEnv": []any{map[string]any{"name": p + "SERVICE_TOKEN_SECRET", "valueFrom": reference}}}); err != nil {
			t.Errorf("%s: a reference in extraEnv: %v", name, err)
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
