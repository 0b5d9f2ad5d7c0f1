package charts

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const composeFolder = "../compose"

// composed is one container of the trial in the Compose file.
type composed struct {
	Name, Image, User, Grace string
	Entrypoint, Command      []string
	Environment              []string // lines of the form NAME: value, sorted
	Aliases                  []string // additional host names
	Volumes, Ports           []string
	Migrates, Engine         bool // runs a migration before its start; is an engine, whose data is in memory
}

var composeText = template.Must(template.New("").Funcs(template.FuncMap{"list": composeList}).Parse(
	`# The trial of charts/lab for Docker Compose and Podman: engines, the ten deployables and the demo laboratory. Never for
# patients: nothing is kept, and the passwords are in this file. README.md leads through it.
# Written from the chart by make charts-update.
name: lab
x-platform: &platform
  restart: on-failure
  read_only: true
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
x-engine: &engine
  restart: on-failure
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
  tmpfs: ["/data:exec,mode=1777", "/tmp:exec,mode=1777"]
  volumes: ["./files:/files:ro,z"]
services:
{{- range . }}
{{- if .Migrates }}
  {{ .Name }}-migrate:
    <<: *platform
    image: {{ .Image }}
    user: "{{ .User }}"
    command: [migrate, --wait=10m]
    environment: &{{ .Name }}
{{- range .Environment }}
      {{ . }}
{{- end }}
{{- end }}
  {{ .Name }}:
    <<: *{{ if .Engine }}engine{{ else }}platform{{ end }}
    image: {{ .Image }}
    user: "{{ .User }}"
{{- with .Entrypoint }}
    entrypoint: {{ list . }}
{{- end }}
{{- with .Command }}
    command: {{ list . }}
{{- end }}
{{- if .Migrates }}
    environment: *{{ .Name }}
    depends_on: { {{- .Name }}-migrate: {condition: service_completed_successfully}}
{{- else if .Environment }}
    environment:
{{- range .Environment }}
      {{ . }}
{{- end }}
{{- end }}
{{- with .Volumes }}
    volumes: {{ list . }}
{{- end }}
{{- with .Aliases }}
    networks: {default: {aliases: {{ list . }}}}
{{- end }}
{{- range .Ports }}
    ports: ["{{ . }}"]
{{- end }}
    stop_grace_period: {{ .Grace }}
{{- end }}
`))

func composeList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = composeQuote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// composeQuote returns a quoted text with doubled dollars, because Compose reads $ as the beginning of a variable.
func composeQuote(text string) string {
	return fmt.Sprintf("%q", strings.ReplaceAll(text, "$", "$$"))
}

// composeEnvironment returns the variables with the values of the trial's Secret in place of references. Optional
// references to a missing key are left out.
func composeEnvironment(t *testing.T, variables []corev1.EnvVar, secret map[string]string) (lines []string) {
	t.Helper()
	for _, v := range variables {
		value := v.Value
		if v.ValueFrom != nil {
			key := v.ValueFrom.SecretKeyRef
			if key == nil {
				t.Fatalf("%s is neither a value nor of a Secret", v.Name)
			}
			var found bool
			if value, found = secret[key.Key]; !found {
				if key.Optional == nil || !*key.Optional {
					t.Fatalf("%s needs the key %s, which the trial's Secret does not have", v.Name, key.Key)
				}
				continue
			}
		}
		if value != "" {
			lines = append(lines, v.Name+": "+composeQuote(value))
		}
	}
	slices.Sort(lines)
	return lines
}

// composeSecret replaces the values that the chart derives from the seed by readable ones.
func composeSecret(made map[string]string) map[string]string {
	fixed := map[string]string{}
	for key, value := range made {
		for other, random := range made {
			if len(random) == 64 { // a hash of the seed
				known := strings.ToLower("trial-of-the-laboratory-" + strings.ReplaceAll(other, "_", "-"))
				value = strings.ReplaceAll(value, random, known)
			}
		}
		fixed[key] = value
	}
	return fixed
}

func composeOf(t *testing.T, name string, spec appsv1.DeploymentSpec, secret, aliases map[string]string) composed {
	t.Helper()
	pod := spec.Template.Spec
	container := pod.Containers[0]
	repository, tag, _ := strings.Cut(strings.TrimPrefix(container.Image, "ghcr.io/labplatform/"), ":")
	image := container.Image
	if strings.HasPrefix(image, "ghcr.io/labplatform/") {
		image = "${LAB_REGISTRY:-ghcr.io/labplatform}/" + repository + ":${LAB_VERSION:-" + tag + "}"
	}
	one := composed{
		Name: name, Image: image, User: fmt.Sprintf("%d:%d", *pod.SecurityContext.RunAsUser, *pod.SecurityContext.RunAsGroup),
		Grace: fmt.Sprintf("%ds", *pod.TerminationGracePeriodSeconds), Entrypoint: container.Command, Command: container.Args,
		Environment: composeEnvironment(t, container.Env, secret),
		Migrates:    len(pod.InitContainers) > 0,
		Engine:      spec.Template.Labels["app.kubernetes.io/component"] == "engine",
	}
	switch name { // in a cluster a port-forward and the chart's own landing page do this
	case "gateway":
		one.Environment = append([]string{`GATEWAY_DEMO_SIGN_IN: "/landing.json"`}, one.Environment...)
		one.Volumes, one.Ports = []string{"./landing.json:/landing.json:ro,z"}, []string{"127.0.0.1:${LAB_PORT:-8090}:8090"}
	case "taskqueue":
		one.Ports = []string{"127.0.0.1:${LAB_QUEUE_PORT:-8004}:8004"}
	}
	for alias, engine := range aliases {
		if engine == name {
			one.Aliases = append(one.Aliases, alias)
		}
	}
	slices.Sort(one.Aliases)
	if slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "secrets" }) {
		one.Volumes = []string{"./files:/files:ro,z", "./secrets:/secrets:ro,z"}
	}
	return one
}

// TestTheComposeFileIsTheTrialOfTheChart checks that scripts/compose equals the rendered chart with trial=true.
func TestTheComposeFileIsTheTrialOfTheChart(t *testing.T) {
	t.Parallel()
	all := trial(t)
	secret := composeSecret(object[corev1.Secret](t, all, "Secret", "trial").StringData)
	names := map[string]string{} // Deployment by host name, if they differ
	for _, m := range all {
		if m.kind != "Service" {
			continue
		}
		to := object[corev1.Service](t, all, m.kind, m.name).Spec.Selector["app.kubernetes.io/name"]
		if to != m.name {
			names[m.name] = to
		}
	}
	var containers []composed
	for _, m := range all {
		if m.kind == "Deployment" {
			spec := object[appsv1.Deployment](t, all, m.kind, m.name).Spec
			containers = append(containers, composeOf(t, m.name, spec, secret, names))
		}
	}
	slices.SortFunc(containers, func(a, b composed) int {
		if a.Engine != b.Engine {
			return map[bool]int{true: -1, false: 1}[a.Engine]
		}
		return strings.Compare(a.Name, b.Name)
	})
	var text strings.Builder
	if err := composeText.Execute(&text, containers); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(text.String()), &struct{}{}); err != nil {
		t.Fatalf("no YAML: %v\n%s", err, text.String())
	}
	golden(t, filepath.Join(composeFolder, "compose.yaml"), text.String())
	files := object[corev1.ConfigMap](t, all, "ConfigMap", "trial-engines").Data
	for _, name := range slices.Sorted(maps.Keys(files)) {
		golden(t, filepath.Join(composeFolder, "files", name), files[name])
	}
	golden(t, filepath.Join(composeFolder, "secrets", "connector.properties"), secret["connector.properties"]+"\n")
}

// TestTheLandingPageOfComposeSignsInPersonsOfTheDemo checks that the demo laboratory has the page's sessions. Others
// would be refused.
func TestTheLandingPageOfComposeSignsInPersonsOfTheDemo(t *testing.T) {
	t.Parallel()
	var landing struct {
		People []struct{ Session, Name string }
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(composeFolder, "landing.json"))), &landing); err != nil {
		t.Fatal(err)
	}
	demo := read(t, "../devstack/fixtures/demo.json")
	for _, person := range landing.People {
		if !strings.Contains(demo, `{"id":"`+person.Session+`",`) || !strings.Contains(demo, `"full_name":"`+person.Name+`"`) {
			t.Errorf("the demo laboratory has no session %s of %s", person.Session, person.Name)
		}
	}
	if len(landing.People) < 5 {
		t.Errorf("got %d persons, want at least 5", len(landing.People))
	}
}
