// Package mysql owns the SQL of the search: one patient from userDetails and user_meta, and how far change capture has
// come. It only reads.
package mysql

import (
	"database/sql"
)

// Store reads the relational database. Its methods may be called from several goroutines.
type Store struct{ db *sql.DB }

// New returns a store over db, which stays the caller's to close.
func New(db *sql.DB) *Store { return &Store{db: db} }

// LegacyColumns are the columns of the platform's tables that the service needs.
func LegacyColumns() map[string][]string {
	return map[string][]string{
		"billing": {"userDetailsId_id", "labId_id", "docId_id"},
		"userDetails": {
			"id",
			"labId_id",
			"branchId",
			"orgId_id",
			"ccId_id",
			"labPatientId",
			"designation",
			"firstName",
			"middleName",
			"lastName",
			"fullName",
			"contact",
			"alternateContact",
			"email",
			"gender",
			"dateOfBirth",
			"age",
			"passportNo",
			"nationalIdentityNumber",
			"isDeleted",
			"updatedOn",
		},
	}
}
