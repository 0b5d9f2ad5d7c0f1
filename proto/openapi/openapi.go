// Package openapi embeds the API documents generated from the contracts and the overlays beside them.
package openapi

import _ "embed"

// Document is the OpenAPI 3.0 description of every REST path, as JSON.
//
//go:embed lab.openapi.json
var Document []byte

// DocumentV2 is the OpenAPI 2.0 description. It knows neither null nor unions, and only the answers that are not
// errors.
//
//go:embed lab.swagger.json
var DocumentV2 []byte
