// Package config owns how a service reads its settings: environment variables under the service's prefix
// into one struct, secrets from files, every problem reported at once.
//
// For each variable X, X_FILE may name a file that holds the value instead (a mounted Kubernetes secret).
// Nothing else in the product reads the environment.
package config
