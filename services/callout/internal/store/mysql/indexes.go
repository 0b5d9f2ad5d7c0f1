package mysql

import "github.com/labplatform/labplatform/pkg/mysqldb"

// LegacyIndexes returns the indexes on the platform's tables that the service needs.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "labReportRelation", Columns: []string{"criticalValues", "labId_id"}, For: "the board"},
		{Table: "labReportRelation", Columns: []string{"updatedOn"}, For: "the search for reports that were not judged"},
		{Table: "labReportRelation", Columns: []string{"labId_id", "billId_id"}, For: "the reports of a bill"},
		{Table: "reportValues", Columns: []string{"labReportId_id"}, For: "a judgement"},
		{Table: "reportValues", Columns: []string{"updated_at"}, For: "the search for changed values"},
		{Table: "userDetails", Columns: []string{"updatedOn"}, For: "the search for changed patients"},
		{Table: "billing", Columns: []string{"updatedOn"}, For: "the search for changed bills"},
		{Table: "labReportRelation", Columns: []string{"userDetailsId_id"}, For: "the reports of a patient"},
		{Table: "ReportFormat", Columns: []string{"testId_id"}, For: "a judgement"},
		{Table: "ReportFormatRange", Columns: []string{"reportFormatId_id"}, For: "a judgement"},
	}
}
