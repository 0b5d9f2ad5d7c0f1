// Package openapi embeds the API document generated from the contracts and the overlays beside them.
package openapi

import _ "embed"

// Document is the OpenAPI 3.0 description of every REST path, as JSON.
//
//go:embed lab.openapi.json
var Document []byte
