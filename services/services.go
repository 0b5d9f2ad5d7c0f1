// Package services reads services.yaml, the only list of the deployables, for tools and tests. The product does not
// read it.
package services

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Gateway is the name of the only deployable that is not a service of an area.
const Gateway = "gateway"

// Service is one entry of services.yaml, which describes the fields.
type Service struct {
	Name          string
	Area          string
	Title         string
	Prefix        string
	Slot          int
	GRPC          int
	Admin         int
	AdminVariable string `yaml:"admin_variable"`
	Callees       []string
	Stores        []string
	Migrates      bool
	Internal      bool
	Pipeline      bool
}

//go:embed services.yaml
var list []byte

// List returns every deployable, the gateway first. It panics if the embedded list is invalid.
func List() []Service {
	entries := yaml.NewDecoder(bytes.NewReader(list))
	entries.KnownFields(true)
	var all []Service
	if err := entries.Decode(&all); err != nil {
		panic(fmt.Sprintf("services.yaml: %v", err))
	}
	for i := range all {
		all[i].AdminVariable = cmp.Or(all[i].AdminVariable, "ADMIN_PORT")
	}
	return all
}

// Folder returns the folder of the service's module, relative to the root of the repository.
func (s Service) Folder() string {
	if s.Name == Gateway {
		return s.Name
	}
	return "services/" + s.Name
}

// Package returns the service's main package, relative to the root of the repository.
func (s Service) Package() string { return "./" + s.Folder() + "/cmd/" + s.Name }
