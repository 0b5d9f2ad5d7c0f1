// Package volume owns the generator of many patients, bills and reports. Equal parameters give equal rows: each
// patient is drawn from a source of its own, seeded with the seed number and the patient's index.
package volume

import (
	"errors"
	"fmt"
)

// Config says how much to generate.
type Config struct {
	Users      int
	Labs       int
	SeedNumber uint64
	Into       *Laboratory // everybody is a patient of this one, and Labs is 1; nil: of laboratories that are generated too
}

// Laboratory is one that is there already, with its tests.
type Laboratory struct {
	ID, Branch int
	Tests      []int
	FirstBill  int // the number that people see of the first bill that is generated
}

// Validate refuses sizes that do not fit the id ranges.
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

// Generated ids start here, far above the demo laboratory's.
const (
	firstLab    = 1001
	firstTest   = 100_001
	firstUser   = 1_000_001
	firstBill   = 1_000_001
	firstReport = 10_000_001 // also of billing rows

	testsPerLab      = 8
	maxBillsPerUser  = 2
	maxReportPerBill = 3
)

// Rows are the rows of one batch, by table, each in the order of that table's columns.
type Rows map[string][][]any

// tableColumns names the columns that are generated; the others take their defaults.
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

// tableOrder is parents first.
func tableOrder() []string {
	return []string{"labs", "department", "AllTests", "userDetails", "billing", "billingInfo", "labReportRelation"}
}
