package node

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed files
var files embed.FS

var templates = template.Must(template.New("").ParseFS(files, "files/*"))

// writeSettings writes the files of files/ with this node's values, under the same names.
func (n Node) writeSettings() error {
	values := map[string]string{"Name": Name, "Address": Address, "Registry": Registry, "DNS": DNS, "Pods": pods,
		"Dir": n.Dir, "PKI": n.pki(""), "Settings": n.settings("")}
	for _, t := range templates.Templates() {
		if t.Name() == "" {
			continue
		}
		file := n.settings(t.Name())
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := t.Execute(out, values); err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return n.writeMirrors()
}

// writeMirrors makes containerd pull every image from the node's registry, so that charts keep the names of their
// images.
func (n Node) writeMirrors() error {
	const url = "http://" + Registry
	text := fmt.Sprintf("server = %q\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", url, url)
	for _, of := range []string{"_default", "ghcr.io", "registry.k8s.io"} {
		folder := filepath.Join(n.settings("hosts"), of)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
