// Package distributions builds the programs of the Java engines: Kafka with Connect and the Debezium connector, and
// Elasticsearch. They consist of Maven artifacts of fixed versions and are put together once per machine and recipe.
package distributions
