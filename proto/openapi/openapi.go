// Package openapi embeds the OpenAPI document generated from the contracts.
package openapi

import _ "embed"

// Document is the OpenAPI 2.0 description of every REST path, as JSON.
//
//go:embed lab.swagger.json
var Document []byte
