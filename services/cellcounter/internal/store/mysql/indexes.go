package mysql

import "github.com/labplatform/labplatform/pkg/mysqldb"

// LegacyIndexes are the indexes of the platform's tables by which the service searches.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "labReportRelation", Columns: []string{"labId_id", "reportID_id", "isSigned", "dismissed"},
			For: "the reports that wait for a count"},
	}
}
