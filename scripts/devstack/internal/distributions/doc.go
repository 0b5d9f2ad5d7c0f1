// Package distributions owns the programs of the Java engines: Kafka with Connect and the Debezium connector, and
// Elasticsearch, put together from Maven artifacts of fixed versions, once per machine and recipe.
package distributions
