// Package authorization holds the tables of permissions, people.txt and services.txt, and a test that sends every cell
// to a running platform. It searches allowed responses for texts of other laboratories, organisations and doctors.
package authorization
