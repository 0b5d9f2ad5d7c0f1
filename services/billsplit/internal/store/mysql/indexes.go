package mysql

import "github.com/labplatform/labplatform/pkg/mysqldb"

// LegacyIndexes are the indexes of the platform's tables by which the service searches.
func LegacyIndexes() []mysqldb.Index {
	return []mysqldb.Index{
		{Table: "billing", Columns: []string{"labId_id", "labBillId"}, For: "the next bill number"},
		{Table: "billing", Columns: []string{"labId_id", "orderNumber"}, For: "the next order number"},
		{Table: "billing", Columns: []string{"labId_id", "billTime"}, For: "the bills of a day"},
		{Table: "billingInfo", Columns: []string{"billId_id"}, For: "the tests of a bill"},
		{Table: "labReportRelation", Columns: []string{"billingInfoId_id"}, For: "a split"},
	}
}
