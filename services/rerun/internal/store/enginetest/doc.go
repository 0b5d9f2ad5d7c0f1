// Package enginetest opens the stores of the rerun service on real engines, for the suite of store/storetest and for
// tests that need a database as the service finds it. Only tests import it.
package enginetest
