// Package config owns how a service reads its settings: environment variables under the service's prefix
// into one struct, secrets from files, every problem reported at once.
//
// For each variable X of the service, X_FILE may name a file that holds the value instead (a mounted Kubernetes
// secret); no other file is opened. What Kubernetes injects for its Services (GATEWAY_PORT=tcp://…) is recognised and
// explained. Nothing else in the product reads the environment.
package config
