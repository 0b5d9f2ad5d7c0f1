// Package volume generates many patients, bills and reports. Equal parameters give equal rows: each patient has a
// random source of its own, seeded with the seed number and the patient's index.
package volume

import (
	"errors"
	"fmt"
)

// Config is the amount of data to generate, and where it goes.
type Config struct {
	Users      int
	Labs       int
	SeedNumber uint64
	Into       *Laboratory // the laboratory of all patients, with Labs 1; nil: generate laboratories
}

// Laboratory is an existing laboratory, with its tests.
type Laboratory struct {
	ID, Branch int
	Tests      []int
	FirstBill  int // visible number of the first generated bill
}

// Validate returns an error for sizes that do not fit the id ranges.
func (c Config) Validate() error {
	const maxUsers, maxLabs = 20_000_000, 10_000
	var problems []error
	if c.Users < 1 || c.Users > maxUsers {
		problems = append(problems, fmt.Errorf("users is %d: give 1 to %d", c.Users, maxUsers))
	}
	if c.Labs < 1 || c.Labs > maxLabs {
		problems = append(problems, fmt.Errorf("labs is %d: give 1 to %d", c.Labs, maxLabs))
	}
	if c.Into != nil && (c.Labs != 1 || len(c.Into.Tests) == 0) {
		problems = append(problems, errors.New("patients of a laboratory that is there need labs to be 1, and its tests"))
	}
	return errors.Join(problems...)
}

// First generated ids, far above those of the demo laboratory.
const (
	firstLab    = 1001
	firstTest   = 100_001
	firstUser   = 1_000_001
	firstBill   = 1_000_001
	firstReport = 10_000_001 // first id of reports and of billing rows

	testsPerLab      = 8
	maxBillsPerUser  = 2
	maxReportPerBill = 3
)

// Rows holds the rows of one batch by table. The values of a row are in the order of tableColumns.
type Rows map[string][][]any

// tableColumns names the columns that are generated. The others take their defaults.
func tableColumns() map[string][]string {
	return map[string][]string{
		"labs":       {"id", "labName"},
		"department": {"id", "labId_id", "departmentName"},
		"AllTests":   {"id", "labId_id", "testName", "departmentId_id", "meta"},
		"userDetails": {"id", "labId_id", "branchId", "labPatientId", "designation", "firstName", "lastName", "fullName",
			"contact", "countryCode", "email", "gender", "dateOfBirth", "age", "createdOn", "updatedOn"},
		"billing": {"id", "labId_id", "labBillId", "orderNumber", "userDetailsId_id", "branchId", "source", "billTotalAmount",
			"billAdvance", "patientPayableAmount", "billTime", "updatedOn"},
		"billingInfo": {"id", "billId_id", "labId_id", "testId_id", "testAmount", "patientPayableAmount"},
		"labReportRelation": {"id", "labId_id", "billId_id", "billingInfoId_id", "userDetailsId_id", "reportID_id", "sampleId",
			"sampleCollected", "sampleCollectionTime", "updatedOn"},
	}
}

// tableOrder returns the tables in the order of insertion, parents first.
func tableOrder() []string {
	return []string{"labs", "department", "AllTests", "userDetails", "billing", "billingInfo", "labReportRelation"}
}
