package charts

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const gitops = "../../docs/gitops.md"

// blocks returns the YAML documents of a page in their order.
func blocks(t *testing.T, page string) (found []map[string]any) {
	t.Helper()
	for _, part := range strings.Split(read(t, page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "\n```")
		for document := range strings.SplitSeq(text, "\n---\n") {
			into := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(document), &into); err != nil {
				t.Fatalf("%s: %v in\n%s", page, err, document)
			}
			found = append(found, into)
		}
	}
	return found
}

// at returns the value at a path of keys, or nil if one is missing.
func at(value any, path ...string) any {
	for _, key := range path {
		within, _ := value.(map[string]any)
		value = within[key]
	}
	return value
}

// step is the time at which a GitOps tool creates an object: hooks before the release, then by wave.
type step struct{ phase, wave int }

func (s step) before(other step) bool {
	return s.phase < other.phase || s.phase == other.phase && s.wave < other.wave
}

func stepOf(t *testing.T, m manifest) step {
	t.Helper()
	var object struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal([]byte(m.text), &object); err != nil {
		t.Fatal(err)
	}
	of := object.Metadata.Annotations
	wave, _ := strconv.Atoi(of["argocd.argoproj.io/sync-wave"])
	hook, argo := of["argocd.argoproj.io/hook"]
	if helm := of["helm.sh/hook"]; !argo && strings.Contains(helm, "pre-install") || hook == "PreSync" {
		weight, _ := strconv.Atoi(of["helm.sh/hook-weight"])
		return step{-1, wave + weight}
	}
	return step{0, wave}
}

// makes returns the name of the Secret that an object creates, or "".
func makes(t *testing.T, m manifest) string {
	t.Helper()
	var object struct {
		Spec struct {
			SecretName string
			Target     struct{ Name string }
		}
	}
	if err := yaml.Unmarshal([]byte(m.text), &object); err != nil {
		t.Fatal(err)
	}
	switch {
	case m.kind == "Secret", m.kind == "ExternalSecret" && object.Spec.Target.Name == "":
		return m.name
	case m.kind == "ExternalSecret":
		return object.Spec.Target.Name
	case m.kind == "Certificate":
		return object.Spec.SecretName
	}
	return ""
}

// needs returns the Secrets that the pods of an object need to start.
func needs(t *testing.T, m manifest) []string {
	t.Helper()
	var object struct {
		Spec struct {
			Template struct{ Spec corev1.PodSpec }
		}
	}
	if m.kind != "Job" && m.kind != "Deployment" {
		return nil
	}
	if err := yaml.Unmarshal([]byte(m.text), &object); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, v := range object.Spec.Template.Spec.Containers[0].Env {
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil && !*orFalse(v.ValueFrom.SecretKeyRef.Optional) {
			all[v.ValueFrom.SecretKeyRef.Name] = true
		}
	}
	for _, v := range object.Spec.Template.Spec.Volumes {
		if v.Secret != nil {
			all[v.Secret.SecretName] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// waits returns a problem for each object that needs a Secret which is created later, or by no object of list and not
// in outside.
func waits(t *testing.T, list []manifest, outside map[string]bool) (problems []string) {
	t.Helper()
	made := map[string]step{}
	for _, m := range list {
		if secret := makes(t, m); secret != "" {
			made[secret] = stepOf(t, m)
		}
	}
	for _, m := range list {
		for _, secret := range needs(t, m) {
			when, inside := made[secret]
			switch {
			case inside && (m.kind == "Job" && !when.before(stepOf(t, m)) || stepOf(t, m).before(when)):
				problems = append(problems, fmt.Sprintf("%s %s waits for the Secret %s, which comes after it", m.kind, m.name, secret))
			case !inside && !outside[secret]:
				problems = append(problems, fmt.Sprintf("%s %s waits for the Secret %s, which nothing makes", m.kind, m.name, secret))
			}
		}
		if m.kind == "NetworkPolicy" && strings.HasSuffix(m.name, "-migrate") {
			job := slices.IndexFunc(list, func(other manifest) bool { return other.kind == "Job" && other.name == m.name })
			if job < 0 || stepOf(t, list[job]).before(stepOf(t, m)) {
				problems = append(problems, m.name+" runs before its NetworkPolicy")
			}
		}
	}
	return problems
}

// documents returns the examples of the page by kind, and Kustomizations by name.
func documents(t *testing.T) (application, release map[string]any, kustomizations map[string]map[string]any, external map[string]bool, trial map[string]any) {
	t.Helper()
	kustomizations, external = map[string]map[string]any{}, map[string]bool{}
	for _, d := range blocks(t, gitops) {
		name, _ := at(d, "metadata", "name").(string)
		switch d["kind"] {
		case "Application":
			application = at(d, "spec", "source", "helm", "valuesObject").(map[string]any)
		case "HelmRelease":
			release = at(d, "spec", "values").(map[string]any)
		case "Kustomization":
			kustomizations[name] = d
		case "ExternalSecret":
			external[name] = true
		case nil:
			trial = d
		}
	}
	return application, release, kustomizations, external, trial
}

// TestNothingWaitsForWhatComesLaterUnderArgoCDAndFlux renders the values of docs/gitops.md: no object may wait for one
// that is created later.
func TestNothingWaitsForWhatComesLaterUnderArgoCDAndFlux(t *testing.T) {
	t.Parallel()
	application, release, kustomizations, external, _ := documents(t)
	underArgo, err := render(load(t, umbrella), application)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range waits(t, underArgo, nil) {
		t.Error("Argo CD: " + problem)
	}
	for _, m := range underArgo {
		if m.kind == "Job" && (stepOf(t, m).phase != 0 || !stepOf(t, m).before(step{})) {
			t.Errorf("Argo CD: %s runs at %+v, want before the Deployments and not as a hook of Helm", m.name, stepOf(t, m))
		}
	}
	underFlux, err := render(load(t, umbrella), release)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range waits(t, underFlux, external) {
		t.Error("Flux: " + problem)
	}
	if wait := at(kustomizations["lab-secrets"], "spec", "wait"); wait != true {
		t.Errorf("Flux: the Kustomization of the Secrets has wait %v, want true: else the release does not wait for them", wait)
	}
	if on, _ := yaml.Marshal(at(kustomizations["lab"], "spec", "dependsOn")); string(on) != "- name: lab-secrets\n" {
		t.Errorf("Flux: the release waits for %s, want the Secrets", on)
	}
}

// TestAnExternalSecretBesideHelmsHookWouldNeverBeMade shows why migration.annotations exist: without them, the
// migration Job waits for a Secret that is created after it.
func TestAnExternalSecretBesideHelmsHookWouldNeverBeMade(t *testing.T) {
	t.Parallel()
	application, _, _, _, _ := documents(t)
	delete(at(application, "global", "migration").(map[string]any), "annotations")
	list, err := render(load(t, umbrella), application)
	if err != nil {
		t.Fatal(err)
	}
	if problems := waits(t, list, nil); !slices.Contains(problems, "Job rerun-migrate waits for the Secret rerun-secrets, which comes after it") {
		t.Errorf("found %v, want the Job that waits for its Secret", problems)
	}
}

func TestTheTrialOfThePageRendersTheSameTwice(t *testing.T) {
	t.Parallel()
	_, _, _, _, given := documents(t)
	var renders []string
	for range 2 {
		list, err := render(load(t, umbrella), maps.Clone(given))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, m := range list {
			all.WriteString(m.text)
		}
		renders = append(renders, all.String())
	}
	if renders[0] != renders[1] {
		t.Error("two renders of the trial differ")
	}
}
