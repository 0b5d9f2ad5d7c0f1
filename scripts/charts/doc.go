// Package charts tests the Helm charts in charts/: that they render, that their manifests are valid, that their schemas
// refuse invalid values, and that they agree with the settings, ports and callers of the services.
//
// The tests run in process and need neither helm nor a cluster. With -update they write the committed schemas and
// rendered manifests.
package charts
