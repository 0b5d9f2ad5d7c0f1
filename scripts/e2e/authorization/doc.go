// Package authorization holds who may do what, as tables that people.txt and services.txt show, and a test that sends
// every cell to a running platform. In what is allowed it looks for the words of other laboratories, organisations and
// doctors.
package authorization
