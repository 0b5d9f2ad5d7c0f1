package charts

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestDigestsOfARelease checks that the file of digests that `make images` writes is valid as values of lab, and that
// every pod then has the pushed image.
func TestDigestsOfARelease(t *testing.T) {
	t.Parallel()
	pushed := map[string]string{}
	var lines strings.Builder
	for i, name := range append(names(t), "devstack") {
		digest := fmt.Sprintf("sha256:%064x", i)
		pushed[name] = "localhost:5000/lab/" + name + "@" + digest
		fmt.Fprintf(&lines, "localhost:5000/lab/%s:1.2.3@%s\n", name, digest)
	}
	command := exec.CommandContext(t.Context(), "../images/digests.sh")
	command.Stdin = strings.NewReader(lines.String())
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.UnmarshalStrict(out, &given); err != nil {
		t.Fatal(err)
	}
	given["trial"] = true
	given["engines"].(map[string]any)["seed"] = "a seed of the test"
	list, err := render(load(t, umbrella), given)
	if err != nil {
		t.Fatal(err)
	}
	pushed["demo"] = pushed["devstack"]
	delete(pushed, "devstack")
	for name, want := range pushed {
		if got := object[appsv1.Deployment](t, list, "Deployment", name).Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("%s runs %s, want %s", name, got, want)
		}
	}
}
