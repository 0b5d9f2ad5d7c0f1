// Package config reads a service's settings from environment variables under the service's prefix into one
// struct, takes secrets from files, and reports every problem at once.
//
// For each variable X of the service, X_FILE may name a file that contains the value instead, such as a mounted
// Kubernetes secret; no other file is opened. Variables that Kubernetes injects for its Services (GATEWAY_PORT=tcp://…)
// are recognised and explained in the error. Services read the environment in no other way, except for
// OTEL_RESOURCE_ATTRIBUTES.
package config
