package main

import (
	_ "embed" // for the values files
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// charts in the order in which they are installed.
var charts = []string{
	"cellcounter",
	"billsplit",
	"notifications",
	"taskqueue",
	"callout",
	"externaledit",
	"rerun",
	"cdc",
	"search",
	"gateway",
}

// stores are the host names of the engines in the charts' values.
var stores = []string{"mysql", "redis", "queue-redis", "sentinel", "mongo", "kafka", "kafka-connect", "elasticsearch",
	"objects"}

type object map[string]any

// namespace returns the Namespace object, with the strictest pod security standard.
func (c cluster) namespace() object {
	return object{"apiVersion": "v1", "kind": "Namespace",
		"metadata": object{"name": c.space, "labels": object{"pod-security.kubernetes.io/enforce": "restricted"}}}
}

// prepareNamespace creates the namespace, Services with the names of the stores, and the Secrets.
func (c cluster) prepareNamespace() error {
	objects := []object{c.namespace()}
	for _, name := range stores {
		objects = append(objects,
			object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name, "namespace": c.space},
				"spec": object{"clusterIP": "None", "ports": []object{{"port": 1}}}}, // pods use its address, not the port
			object{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
				"metadata": object{"name": name, "namespace": c.space, "labels": object{"kubernetes.io/service-name": name}},
				"ports":    []object{{"port": 1}}, "endpoints": []object{{"addresses": []string{c.host}}}})
	}
	secrets, err := c.secrets()
	if err != nil {
		return err
	}
	list, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": append(objects, secrets...)})
	if err != nil {
		return err
	}
	return c.apply(string(list))
}

// secret matches the variables of a service that are keys of its Secret.
var secret = regexp.MustCompile(`(SECRET|PASSWORD|PASS|TOPIC_KEY|MONGO_URI)$`)

// secrets returns a Secret for each chart, with the values of the running stack, and the Secrets of the database's
// users.
func (c cluster) secrets() ([]object, error) {
	running, err := c.readStack()
	if err != nil {
		return nil, err
	}
	keyed := func(name string, keys map[string]string) object {
		return object{
			"apiVersion": "v1",
			"kind":       "Secret",
			"metadata":   object{"name": name, "namespace": c.space},
			"stringData": keys,
		}
	}
	all := []object{keyed("database-owner", map[string]string{"DB_PASSWORD": ownerPassword})}
	for _, chart := range charts {
		keys := map[string]string{}
		for name, value := range running.Environ[chart] {
			if secret.MatchString(name) {
				keys[strings.TrimPrefix(name, prefix(running.Environ[chart]))] = value
			}
		}
		keys["DB_PASSWORD"] = servingPassword
		keys["MONGO_URI"] = "mongodb://mongo:27017/"
		keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"] = "lab", "lab" // the object store accepts any credential
		all = append(all, keyed(chart+"-secrets", keys))
		if chart == "cdc" {
			all = append(all, keyed("cdc-connector-secrets", keys))
		}
	}
	return all, nil
}

// prefix returns the prefix of a service's variables, derived from a variable that every service has.
func prefix(environ map[string]string) string {
	for name := range environ {
		if before, found := strings.CutSuffix(name, "SERVICE_TOKEN_SECRET"); found {
			return before
		}
	}
	return ""
}

//go:embed values.yaml
var valuesTemplate string

// writeValues writes a values file for each chart and one for lab, and returns their folder.
func (c cluster) writeValues() (string, error) {
	text := strings.NewReplacer("${HOST}", c.host, "${DATABASE_PORT}", strconv.Itoa(c.portBase+enginePorts[3306])).
		Replace(valuesTemplate)
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		return "", fmt.Errorf("values.yaml: %w", err)
	}
	delete(values, "x-shared")
	of := map[string]any{"lab": values}
	maps.Copy(of, values)
	folder := filepath.Join(c.dir, "values")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for chart, own := range of {
		out, err := yaml.Marshal(own)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(folder, chart+".yaml"), out, 0o644); err != nil {
			return "", err
		}
	}
	return folder, nil
}
