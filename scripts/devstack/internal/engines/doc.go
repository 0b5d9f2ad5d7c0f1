// Package engines runs the engines of the stack: MariaDB or MySQL, Redis, the document store, Kafka, Kafka Connect and
// Elasticsearch. Each is a private process with its data in one directory.
package engines
