// Package authorization tests permissions: people.txt and services.txt are tables of caller and operation, and a test
// sends every combination to a running platform. It searches allowed responses for texts of other laboratories,
// organizations and doctors.
package authorization
