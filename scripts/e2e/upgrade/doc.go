// Package upgrade tests what happens between two releases: the programs of the one before on the tables of this one, as
// during a rolling upgrade and after a rollback, and the programs of this one on the tables of the one before, as when
// someone forgot to migrate.
package upgrade
