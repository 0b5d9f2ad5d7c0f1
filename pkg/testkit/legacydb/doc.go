// Package legacydb contains the DDL of the tables that belong to the platform's core: laboratories, patients, bills,
// reports, formats, the activity log, and the tables that guard a bill split. The local stack and store tests create
// them from this DDL. A deployment already has them, and no service ever alters them.
package legacydb
