package storetest

// World returns the INSERT statements for the rows of the platform's tables.
func World() []string {
	return []string{
		"INSERT INTO labs (id, labName, timezone) VALUES (12, 'A', 'UTC'), (13, 'B', 'UTC')",
		"INSERT INTO department (id, labId_id, departmentName) VALUES (4, 12, 'Haematology'), (5, 12, 'Biochemistry')",
		"INSERT INTO AllTests (id, labId_id, testName, departmentId_id) VALUES (55, NULL, 'Count', 4), (66, NULL, 'Electrolytes', 5)",
		"INSERT INTO ReportFormat (id, testId_id, `index`, `order`, parameterName) VALUES (6602, 66, 2, 2, 'Potassium')," +
			" (5501, 55, 1, 1, 'Haemoglobin'), (5503, 55, 3, 3, 'Smear')",
		"INSERT INTO ReportFormatRange (reportFormatId_id, gender, ageFrom, ageTo, lowerBound, upperBound, criticalLower, criticalUpper) VALUES" +
			" (6602, 'A', 0, NULL, 3.5, 5.1, 2.5, 6.5), (5501, 'A', 0, NULL, 13, 17, 7, 20), (5503, 'A', 0, NULL, 1, 2, NULL, NULL)",
		"INSERT INTO labUser (id, labId_id, username, isAdmin) VALUES (77, 12, 'asha', 0), (79, 12, 'admin', 1)",
		"INSERT INTO DoctorDepartmentRelation (docId_id, departmentId_id) VALUES (302, 5)",
		"INSERT INTO LabUserDepartmentRelation (labUserId_id, departmentId_id) VALUES (78, 4)",
		"INSERT INTO userDetails (id, labId_id, fullName, gender, age) VALUES (501, 12, 'Canary Sharma', 'M', '38 Y'), (601, 13, 'X', 'F', '')",
		"INSERT INTO billing (id, labId_id, labBillId, userDetailsId_id, orgId_id, docId_id) VALUES (400, 12, 1, 501, 45, 301)," +
			" (401, 12, 2, 501, NULL, NULL), (500, 13, 1, 601, NULL, NULL)",
		"INSERT INTO labReportRelation (id, labId_id, billId_id, userDetailsId_id, reportID_id, orgId_id, sampleCollected) VALUES" +
			" (7001, 12, 400, 501, 66, 45, 1), (7002, 12, 400, 501, 55, 45, 1), (7003, 12, 401, 501, 66, NULL, 1), (7100, 13, 500, 601, 66, NULL, 1)",
	}
}
