package charts

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// managed returns values for change capture with managed brokers and a managed database: connectors and Kafka Connect
// run in the cluster, topics are not managed there.
func managed() map[string]any {
	return map[string]any{
		"strimzi": map[string]any{
			"connectors": true, "database": "mysql", "databaseTrustSecret": "rds-trust",
			"connect": map[string]any{"enabled": true, "image": "registry.example.org/lab-connect:3.5.0"},
		},
		"database": map[string]any{"tls": true, "caSecret": "rds-ca"},
		"kafka":    map[string]any{"user": "lab", "mechanism": "SCRAM-SHA-512"},
		"secretKeys": map[string]any{
			"CONNECTOR_DB_PASSWORD": map[string]any{"name": "mysql-connector", "key": "password"},
			"KAFKA_PASSWORD":        map[string]any{"name": "msk-lab", "key": "password"},
		},
	}
}

func renderCDC(t *testing.T, values map[string]any) []manifest {
	t.Helper()
	list, err := render(load(t, "cdc"), values)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var reference = regexp.MustCompile(`[$]\{secrets:lab/([^:]+):([^}]+)\}`)

// refersTo returns the Secrets and keys in the connectors' configurations, as "name/key".
func refersTo(list []manifest) []string {
	found := map[string]bool{}
	for _, m := range list {
		if m.kind != "KafkaConnector" {
			continue
		}
		for _, r := range reference.FindAllStringSubmatch(m.text, -1) {
			found[r[1]+"/"+r[2]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestConnectorsReadTheSecretsOfTheServiceAndTheirRoleAllowsNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values map[string]any
		want   []string
	}{
		"by default":       {map[string]any{"strimzi": map[string]any{"connectors": true}}, []string{"cdc-connector-secrets/CONNECTOR_DB_PASSWORD"}},
		"Secrets by key":   {managed(), []string{"msk-lab/password", "mysql-connector/password", "rds-trust/password"}},
		"all of full":      {values(t, root+"/cdc/ci/full-values.yaml"), []string{"kafka-ca/ca.crt", "kafka-client/tls.crt", "kafka-client/tls.key", "msk-lab/password", "mysql-connector/password", "mysql-trust/password"}},
		"SASL, by default": {map[string]any{"strimzi": map[string]any{"connectors": true}, "kafka": map[string]any{"user": "lab"}}, []string{"cdc-connector-secrets/CONNECTOR_DB_PASSWORD", "cdc-connector-secrets/KAFKA_PASSWORD"}},
	} {
		list := renderCDC(t, c.values)
		if diff := cmp.Diff(c.want, refersTo(list)); diff != "" {
			t.Errorf("%s: -want, +references of the connectors:\n%s", name, diff)
		}
		allowed := map[string]bool{}
		for _, r := range c.want {
			secret, _, _ := strings.Cut(r, "/")
			allowed[secret] = true
		}
		role := object[rbacv1.Role](t, list, "Role", "lab-connect-secrets").Rules
		if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed)), role[0].ResourceNames); len(role) != 1 || diff != "" {
			t.Errorf("%s: -want, +the Role allows:\n%s", name, diff)
		}
		for _, v := range object[appsv1.Deployment](t, list, "Deployment", "cdc").Spec.Template.Spec.Containers[0].Env {
			if v.Name != "CDC_CONNECTOR_DB_PASSWORD" {
				continue
			}
			if at := v.ValueFrom.SecretKeyRef; !slices.Contains(c.want, at.Name+"/"+at.Key) {
				t.Errorf("%s: the service reads %s/%s, want one of the connectors' %v", name, at.Name, at.Key, c.want)
			}
		}
	}
}

func TestTopicsConnectorsAndConnectAreThreeSwitches(t *testing.T) {
	t.Parallel()
	connect := map[string]any{"enabled": true, "image": "x"}
	for name, c := range map[string]struct {
		strimzi map[string]any
		want    []string
	}{
		"none":                   {map[string]any{}, nil},
		"topics":                 {map[string]any{"topics": true}, []string{"KafkaTopic"}},
		"connectors":             {map[string]any{"connectors": true}, []string{"KafkaConnector", "Role", "RoleBinding"}},
		"connectors and Connect": {map[string]any{"connectors": true, "connect": connect}, []string{"KafkaConnect", "KafkaConnector", "Role", "RoleBinding"}},
	} {
		found := map[string]bool{}
		for _, m := range renderCDC(t, map[string]any{"strimzi": c.strimzi}) {
			if strings.HasPrefix(m.kind, "Kafka") || strings.HasPrefix(m.kind, "Role") {
				found[m.kind] = true
			}
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	_, err := render(load(t, "cdc"), map[string]any{"strimzi": map[string]any{"connect": connect}})
	if err == nil || !strings.Contains(err.Error(), "strimzi.connect.enabled needs strimzi.connectors") {
		t.Errorf("Connect without connectors gave %v", err)
	}
}

// TestTheAuthorityOfTheDatabaseReachesTheConnectors checks the Java trust store, because Java does not read the file
// that the service trusts.
func TestTheAuthorityOfTheDatabaseReachesTheConnectors(t *testing.T) {
	t.Parallel()
	list := renderCDC(t, managed())
	type connect struct {
		Spec struct {
			Template struct {
				Pod struct {
					Volumes []struct {
						Name   string
						Secret struct{ SecretName string }
					}
				}
				ConnectContainer struct {
					VolumeMounts []struct{ Name, MountPath string }
				}
			}
		}
	}
	made := decode[connect](t, list, "KafkaConnect", "lab-connect").Spec.Template
	if len(made.Pod.Volumes) != 1 || made.Pod.Volumes[0].Secret.SecretName != "rds-trust" || len(made.ConnectContainer.VolumeMounts) != 1 ||
		made.Pod.Volumes[0].Name != made.ConnectContainer.VolumeMounts[0].Name {
		t.Fatalf("Kafka Connect mounts %+v, want the Secret rds-trust", made)
	}
	for _, name := range []string{"source-existing", "source-projection"} {
		config := decode[struct {
			Spec struct{ Config map[string]string }
		}](t, list, "KafkaConnector", name).Spec.Config
		if want := made.ConnectContainer.VolumeMounts[0].MountPath + "/truststore.p12"; config["database.ssl.truststore"] != want || config["database.ssl.mode"] != "verify_identity" {
			t.Errorf("%s trusts %q in mode %q, want %q and verify_identity", name, config["database.ssl.truststore"], config["database.ssl.mode"], want)
		}
	}
	without := managed()
	delete(without["strimzi"].(map[string]any), "databaseTrustSecret")
	if _, err := render(load(t, "cdc"), without); err == nil || !strings.Contains(err.Error(), "strimzi.databaseTrustSecret") {
		t.Errorf("an authority that the connectors do not trust gave %v, want an error that names the value", err)
	}
}

func TestNotesNameTheSecretsThatAreRead(t *testing.T) {
	t.Parallel()
	files, err := renderFiles(load(t, "cdc"), managed())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cdc-secrets: SERVICE_TOKEN_SECRET DB_PASSWORD [ES_PASSWORD]", "msk-lab: [password]", "mysql-connector: password"} {
		if notes := files["cdc/templates/NOTES.txt"]; !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}
