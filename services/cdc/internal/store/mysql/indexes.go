package mysql

import "github.com/labplatform/labplatform/pkg/mysqldb"

// SourceIndexes are the indexes of the platform's tables by which the service searches.
func SourceIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "billing", Columns: []string{"userDetailsId_id"}, For: "the card of a patient"},
		{Table: "labReportRelation", Columns: []string{"userDetailsId_id"}, For: "the card of a patient"},
		{Table: "userDetails", Columns: []string{"labId_id"}, For: "the walk over a laboratory"},
	}
}
