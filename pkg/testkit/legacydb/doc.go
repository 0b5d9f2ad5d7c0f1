// Package legacydb owns the DDL of the tables that belong to the platform's core (laboratories, patients,
// bills, reports, formats, activity log, and the tables that guard a bill split). The local stack and the
// store tests create them from here; a deployment already has them and no service ever alters them.
package legacydb
