// Package cells routes each laboratory's requests to the cell, an installation of the platform, that has its data. A
// laboratory is identified by the host name of the request.
package cells

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// Directory maps laboratories to cells.
type Directory struct {
	cells        map[string]*url.URL
	laboratories map[string]laboratory // by host
}

type laboratory struct {
	Cell   string `json:"cell"`
	Moving bool   `json:"moving"` // moves to another cell; its requests are refused meanwhile
}

// Read parses a directory:
// {"cells": {name: address of its gateway}, "laboratories": {host: {"cell": name, "moving": bool}}}.
func Read(file string) (*Directory, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("directory of cells: %w", err)
	}
	var written struct {
		Cells        map[string]string     `json:"cells"`
		Laboratories map[string]laboratory `json:"laboratories"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&written); err != nil {
		return nil, fmt.Errorf("directory of cells %s: %w", file, err)
	}
	d := &Directory{cells: map[string]*url.URL{}, laboratories: map[string]laboratory{}}
	var problems []error
	for name, address := range written.Cells {
		u, err := url.Parse(address)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path+u.RawQuery != "" {
			problems = append(problems, fmt.Errorf("cell %s: %q is not the address of a gateway, as http://host:8090", name, address))
		}
		d.cells[name] = u
	}
	for host, lab := range written.Laboratories {
		if written.Cells[lab.Cell] == "" {
			problems = append(problems, fmt.Errorf("laboratory %s: there is no cell %q", host, lab.Cell))
		}
		if host != plain(host) {
			problems = append(problems, fmt.Errorf("laboratory %s: write the host as %s", host, plain(host)))
		}
		d.laboratories[host] = lab
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("directory of cells %s: %w", file, err)
	}
	return d, nil
}

// plain returns host in the form of the directory's keys: in lower case, without port and trailing dot.
func plain(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
