// Package upgrade tests what happens between two versions: the programs of the previous one on the tables of this one,
// as during a rolling upgrade and after a rollback; the tables of the previous one migrated by this one; and the
// programs of this one on a database that is not migrated yet.
package upgrade
