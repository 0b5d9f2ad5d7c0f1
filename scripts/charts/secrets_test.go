package charts

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// printedSecrets runs docs/secrets.sh with these variables. It returns the printed Secrets by name, and the messages.
func printedSecrets(t *testing.T, variables ...string) (secrets map[string]map[string][]byte, said string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "../../docs/secrets.sh")
	var out, problems bytes.Buffer
	command.Env, command.Stdout, command.Stderr = append(variables, "PATH=/usr/bin:/bin"), &out, &problems
	err = command.Run()
	secrets = map[string]map[string][]byte{}
	for _, document := range strings.Split("\n"+out.String(), "\n---\n")[1:] {
		var secret corev1.Secret
		if err := yaml.UnmarshalStrict([]byte(document), &secret); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		secrets[secret.Name] = secret.Data
	}
	return secrets, problems.String(), err
}

// wanted returns, by Secret and key, what the pods of all charts read by default, and whether it may be missing.
func wanted(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, name := range names(t) {
		for _, v := range environment(t, name, "default") {
			if v.ValueFrom == nil || v.ValueFrom.SecretKeyRef == nil {
				continue
			}
			at := v.ValueFrom.SecretKeyRef
			if all[at.Name] == nil {
				all[at.Name] = map[string]bool{}
			}
			all[at.Name][at.Key] = *orFalse(at.Optional)
		}
	}
	return all
}

func TestOneCommandPrintsTheSecretsThatAnInstallReads(t *testing.T) {
	t.Parallel()
	stores := []string{"DB_PASSWORD=it's \"secret\" $1", "CONNECTOR_DB_PASSWORD=c", "MONGO_URI=mongodb://m", "RERUN_DB_PASSWORD=own"}
	least, said, err := printedSecrets(t, stores...)
	if err != nil {
		t.Fatal(err, said)
	}
	every := slices.Clone(stores)
	for _, keys := range wanted(t) {
		for key := range keys {
			if key != "DB_PASSWORD" && key != "SERVICE_TOKEN_SECRET" && key != "TOPIC_KEY" && key != "TOKEN_SECRET" {
				every = append(every, key+"=given")
			}
		}
	}
	most, said, err := printedSecrets(t, every...)
	if err != nil {
		t.Fatal(err, said)
	}
	for secret, keys := range wanted(t) {
		for key, optional := range keys {
			if _, has := least[secret][key]; has == optional {
				t.Errorf("%s: %s is printed: %t, and may be missing: %t", secret, key, has, optional)
			}
			if _, has := most[secret][key]; !has {
				t.Errorf("%s: %s is not printed though its variable is set", secret, key)
			}
		}
	}
	for secret, keys := range most {
		for key := range keys {
			if _, read := wanted(t)[secret][key]; !read {
				t.Errorf("%s has %s, which nothing reads", secret, key)
			}
		}
	}
	token := string(least["gateway-secrets"]["SERVICE_TOKEN_SECRET"])
	made := []string{token, string(least["externaledit-secrets"]["TOKEN_SECRET"]), string(least["notifications-secrets"]["TOPIC_KEY"])}
	for _, secret := range made {
		if len(secret) < 32 || strings.Count(strings.Join(made, " "), secret) != 1 {
			t.Errorf("made up %q, want 32 characters, each its own", made)
		}
	}
	for secret, keys := range least {
		if has, of := keys["SERVICE_TOKEN_SECRET"]; of && string(has) != token {
			t.Errorf("%s has another SERVICE_TOKEN_SECRET than the gateway", secret)
		}
	}
	if all, own := string(least["callout-secrets"]["DB_PASSWORD"]), string(least["rerun-secrets"]["DB_PASSWORD"]); all != "it's \"secret\" $1" || own != "own" {
		t.Errorf("passwords %q and %q, want that of all services, and rerun's own", all, own)
	}
	again, _, _ := printedSecrets(t, stores...)
	if string(again["gateway-secrets"]["SERVICE_TOKEN_SECRET"]) == token {
		t.Error("two installs have the same SERVICE_TOKEN_SECRET")
	}
}

func TestTheCommandNamesWhatIsMissingAndPrintsNothing(t *testing.T) {
	t.Parallel()
	secrets, said, err := printedSecrets(t, "DB_PASSWORD=a", "CONNECTOR_DB_PASSWORD=c")
	if err == nil || len(secrets) != 0 || !strings.Contains(said, "RERUN_MONGO_URI") || strings.Contains(said, "DB_PASSWORD") {
		t.Errorf("%v, %d Secrets, %q: want an error that names RERUN_MONGO_URI alone", err, len(secrets), said)
	}
}

// TestOnePlaceKnowsWhereSecretsAre checks that templates find Secrets through the labkit functions, because a template
// that reads the values itself would ignore secretKeys.
func TestOnePlaceKnowsWhereSecretsAre(t *testing.T) {
	t.Parallel()
	values := regexp.MustCompile(`[vV]alues\.(\w+\.)?(existingSecret|secretKeys|connectorSecret)`)
	allowed := []string{"labkit.secret ", "labkit.tlssecret ", "labkit.certificate ", "cdc.facts "} // TLS has its own Secret
	for _, name := range append(names(t), "labkit", umbrella) {
		files, err := filepath.Glob(filepath.Join(root, name, "templates", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no templates of %s: %v", name, err)
		}
		for _, file := range files {
			for _, define := range strings.Split(read(t, file), "{{- define \"") {
				found := values.FindString(define)
				named := slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(strings.Replace(define, `"`, " ", 1), a) })
				if found != "" && found != "Values.tls.existingSecret" && !named {
					t.Errorf("%s reads %s: include labkit.secret", file, found)
				}
			}
		}
	}
}
