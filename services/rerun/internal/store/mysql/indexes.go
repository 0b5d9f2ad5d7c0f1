package mysql

import "github.com/labplatform/labplatform/pkg/mysqldb"

// LegacyIndexes are the indexes of the platform's tables by which the service searches.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "labReportRelation", Columns: []string{"sampleRedrawFlag", "id"}, For: "the search for open reruns"},
		{Table: "reportValues", Columns: []string{"labReportId_id"}, For: "a confirmation"},
		{Table: "ReportFormat", Columns: []string{"testId_id"}, For: "a judgement"},
		{Table: "ReportFormatRange", Columns: []string{"reportFormatId_id"}, For: "a judgement"},
	}
}
