-- The tables of the platform's core, which other services read and, column by column, write.
-- Portable subset of MySQL 8.0 and MariaDB 10.11; identifiers that callers compare are utf8mb4_bin.

CREATE TABLE IF NOT EXISTS `labs` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labName` VARCHAR(255) NOT NULL,
  `timezone` VARCHAR(64) NOT NULL DEFAULT 'Asia/Kolkata',
  `enable_bill_split` TINYINT NOT NULL DEFAULT 1      -- read only where the deployment turns gating on
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `department` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NOT NULL,
  `departmentName` VARCHAR(128) NOT NULL,
  KEY `ix_department_lab` (`labId_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `organization` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NOT NULL,
  `orgFullName` VARCHAR(255) NOT NULL,
  `isDisabled` TINYINT NOT NULL DEFAULT 0,
  KEY `ix_org_lab` (`labId_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `doctorDetails` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NOT NULL,
  `docFullName` VARCHAR(255) NOT NULL,
  `docType` TINYINT NOT NULL DEFAULT 0,
  KEY `ix_doc_lab` (`labId_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `labUser` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NOT NULL,
  `username` VARCHAR(150) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  `fullName` VARCHAR(255) NOT NULL DEFAULT '',
  `departmentDataType` TINYINT NOT NULL DEFAULT 0,
  `isAdmin` TINYINT NOT NULL DEFAULT 0,
  `permissions` JSON NULL,
  UNIQUE KEY `uq_labuser_username` (`labId_id`,`username`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `DoctorDepartmentRelation` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `docId_id` INT NOT NULL,
  `departmentId_id` INT NOT NULL,
  UNIQUE KEY `uq_doc_dept` (`docId_id`,`departmentId_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `LabUserDepartmentRelation` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labUserId_id` INT NOT NULL,
  `departmentId_id` INT NOT NULL,
  UNIQUE KEY `uq_labuser_dept` (`labUserId_id`,`departmentId_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `userDetails` (            -- the patient ("user") record; captured by CDC
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NOT NULL,
  `branchId` INT NULL,
  `orgId_id` INT NULL,
  `ccId_id` INT NULL,
  `labPatientId` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `designation` VARCHAR(16) NOT NULL DEFAULT '',
  `firstName` VARCHAR(128) NOT NULL DEFAULT '',
  `middleName` VARCHAR(128) NOT NULL DEFAULT '',
  `lastName` VARCHAR(128) NOT NULL DEFAULT '',
  `fullName` VARCHAR(400) NOT NULL DEFAULT '',
  `contact` VARCHAR(20) NOT NULL DEFAULT '',
  `countryCode` VARCHAR(6) NOT NULL DEFAULT '',
  `alternateContact` VARCHAR(20) NOT NULL DEFAULT '',
  `email` VARCHAR(254) NOT NULL DEFAULT '',
  `gender` VARCHAR(16) NOT NULL DEFAULT '',
  `dateOfBirth` DATE NULL,
  `age` VARCHAR(16) NOT NULL DEFAULT '',
  `nationalIdentityNumber` VARCHAR(64) NOT NULL DEFAULT '',
  `passportNo` VARCHAR(64) NOT NULL DEFAULT '',
  `isDeleted` TINYINT NOT NULL DEFAULT 0,
  `createdOn` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  `updatedOn` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  KEY `ix_user_labpatient` (`labId_id`,`labPatientId`),
  KEY `ix_user_lab_contact` (`labId_id`,`contact`),
  KEY `ix_user_updated` (`updatedOn`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `billing` (                -- captured by CDC; written by the bill-split service
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NOT NULL,
  `labBillId` INT NOT NULL,
  `orderNumber` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `userDetailsId_id` BIGINT NOT NULL,
  `orgId_id` INT NULL,
  `docId_id` INT NULL,
  `branchId` INT NULL,
  `ccId_id` INT NULL,
  `source` VARCHAR(32) NOT NULL DEFAULT '',
  `vat` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `vat_percent` DECIMAL(7,4) NOT NULL DEFAULT 0,
  `TDSAmount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `billAdvance` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `co_pay_amount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `billConcession` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `billTotalAmount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `deductible_amount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `billAdditionalAmount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `patientPayableAmount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `billLocked` TINYINT NOT NULL DEFAULT 0,
  `billCancelled` TINYINT NOT NULL DEFAULT 0,
  `billRefunded` TINYINT NOT NULL DEFAULT 0,
  `billWrittenOff` TINYINT NOT NULL DEFAULT 0,
  `isComplete` TINYINT NOT NULL DEFAULT 0,
  `isInvoiced` TINYINT NOT NULL DEFAULT 0,
  `version` INT NOT NULL DEFAULT 0,
  `billTime` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  `updatedOn` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  UNIQUE KEY `uq_billing_lab_billno` (`labId_id`,`labBillId`),
  KEY `ix_billing_user` (`userDetailsId_id`),
  KEY `ix_billing_day` (`labId_id`,`billTime`),
  KEY `ix_billing_lab_order` (`labId_id`,`orderNumber`),
  KEY `ix_billing_updated` (`updatedOn`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `AllTests` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labId_id` INT NULL,
  `testName` VARCHAR(255) NOT NULL,
  `departmentId_id` INT NULL,
  `isProfile` TINYINT NOT NULL DEFAULT 0,
  `cell_counter_enabled` TINYINT NOT NULL DEFAULT 0,
  `meta` JSON NULL,
  KEY `ix_tests_lab_dept` (`labId_id`,`departmentId_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `billingInfo` (            -- BillingInfo.id = an entry of test_ids; written by bill-split
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `billId_id` BIGINT NOT NULL,
  `labId_id` INT NOT NULL,
  `testId_id` INT NOT NULL,
  `isProfile` TINYINT NOT NULL DEFAULT 0,          -- row is a profile parent
  `profileParentId` BIGINT NULL,                   -- set = profile child of that billingInfo row
  `testAmount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `testConsc` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `co_pay_amount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `deductible_amount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `patientPayableAmount` DECIMAL(14,2) NOT NULL DEFAULT 0,
  `dismissed` TINYINT NOT NULL DEFAULT 0,
  `refunded` TINYINT NOT NULL DEFAULT 0,
  KEY `ix_bi_bill` (`billId_id`,`dismissed`),
  KEY `ix_bi_parent` (`profileParentId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `ReportFormat` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `testId_id` INT NOT NULL,
  `index` INT NOT NULL,
  `order` INT NOT NULL,
  `parameterName` VARCHAR(255) NOT NULL,
  `unit` VARCHAR(64) NOT NULL DEFAULT '',
  `valueType` VARCHAR(16) NOT NULL DEFAULT 'numeric',   -- numeric | text | titer
  `isDisabled` TINYINT NOT NULL DEFAULT 0,
  `meta` JSON NULL,        -- {"auto_rerun_allowed":true,"auto_rerun_parameter_condition":"abnormal|critical|custom","custom":{"low":..,"high":..},"manual_rerun":true}
  UNIQUE KEY `uq_rf_pos` (`testId_id`,`index`,`order`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `ReportFormatRange` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `reportFormatId_id` INT NOT NULL,
  `gender` CHAR(1) NOT NULL DEFAULT 'A',               -- M | F | A(ny)
  `ageFrom` INT NOT NULL DEFAULT 0,                    -- inclusive, in ageFromUnit
  `ageFromUnit` CHAR(1) NOT NULL DEFAULT 'Y',          -- D | M | Y, resolved by calendar arithmetic on date of birth
  `ageTo` INT NULL,                                    -- exclusive; NULL = no upper limit
  `ageToUnit` CHAR(1) NOT NULL DEFAULT 'Y',
  `lowerBound` DECIMAL(20,6) NULL,
  `upperBound` DECIMAL(20,6) NULL,
  `criticalLower` DECIMAL(20,6) NULL,
  `criticalUpper` DECIMAL(20,6) NULL,
  `normalTexts` JSON NULL,
  `criticalTexts` JSON NULL,
  `displayRange` VARCHAR(255) NOT NULL DEFAULT '',
  KEY `ix_rfr` (`reportFormatId_id`,`gender`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `labReportRelation` (      -- the lab report; captured by CDC
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,     -- labReportId / lab_report_id
  `labId_id` INT NOT NULL,
  `billId_id` BIGINT NOT NULL,
  `billingInfoId_id` BIGINT NULL,
  `userDetailsId_id` BIGINT NOT NULL,
  `reportID_id` INT NOT NULL,                          -- AllTests.id
  `reportFormatId_id` INT NULL,
  `docForId_id` INT NULL,
  `orgId_id` INT NULL,
  `sampleId` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `manualSampleId` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `lrfId` VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
  `sampleCollected` TINYINT NOT NULL DEFAULT 0,
  `sampleCollectionTime` DATETIME(6) NULL,
  `dismissed` TINYINT NOT NULL DEFAULT 0,
  `isProfile` TINYINT NOT NULL DEFAULT 0,
  `isSigned` TINYINT NOT NULL DEFAULT 0,
  `isSynced` TINYINT NOT NULL DEFAULT 0,
  `isApproved` TINYINT NOT NULL DEFAULT 0,
  `isResolved` TINYINT NOT NULL DEFAULT 0,
  `inQuestion` TINYINT NOT NULL DEFAULT 0,
  `notPerformed` TINYINT NOT NULL DEFAULT 0,
  `onHold` TINYINT NOT NULL DEFAULT 0,
  `claim_on_hold` TINYINT NOT NULL DEFAULT 0,
  `comments` TEXT NULL,
  `criticalValues` TINYINT NOT NULL DEFAULT 0,         -- 0 normal 1 pending 2 done 3 abnormal 4 attempted
  `sampleRedrawFlag` TINYINT NOT NULL DEFAULT 0,       -- 0 normal 3 rerun requested 4 rerun fulfilled (1,2 = legacy redraw)
  `auto_approval_status` TINYINT NOT NULL DEFAULT 0,
  `wordFilePath` VARCHAR(1024) NULL,
  `pdfFilePath` VARCHAR(1024) NULL,
  `updatedOn` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  KEY `ix_lrr_bill` (`labId_id`,`billId_id`,`dismissed`,`criticalValues`),
  KEY `ix_lrr_user` (`userDetailsId_id`),
  KEY `ix_lrr_sample` (`labId_id`,`sampleId`),
  KEY `ix_lrr_redraw` (`labId_id`,`sampleRedrawFlag`),
  KEY `ix_lrr_open` (`sampleRedrawFlag`,`id`),         -- the sweeper crosses laboratories
  KEY `ix_lrr_test` (`labId_id`,`reportID_id`,`isSigned`,`dismissed`),
  KEY `ix_lrr_billinginfo` (`billingInfoId_id`),
  KEY `ix_lrr_callout` (`criticalValues`,`labId_id`),  -- what waits for a callout, of one laboratory and of all
  KEY `ix_lrr_updated` (`updatedOn`)                   -- reports that changed and were not evaluated
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `reportValues` (           -- written by sample-rerun confirm
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `labReportId_id` BIGINT NOT NULL,
  `reportForId_id` BIGINT NULL,
  `profileTestId` INT NOT NULL DEFAULT 0,
  `index` INT NOT NULL,
  `order` INT NOT NULL DEFAULT 0,
  `parameter_name` VARCHAR(255) NOT NULL DEFAULT '',
  `value` TEXT NULL,
  `highlight` TINYINT NOT NULL DEFAULT 0,
  `automatedValue` TINYINT NOT NULL DEFAULT 0,
  `updated_at` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  UNIQUE KEY `uq_rv` (`labReportId_id`,`profileTestId`,`index`),
  KEY `ix_rv_updated` (`updated_at`)                   -- values that changed and were not evaluated
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `ActivityLog` (            -- append-only; written by rerun, callout, split, external edit, cell counter
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `category` INT NOT NULL,
  `log_context` VARCHAR(64) NOT NULL DEFAULT '',
  `labReportId` BIGINT NULL,
  `billId` BIGINT NULL,
  `labUserId` INT NULL,
  `labUserName` VARCHAR(255) NOT NULL DEFAULT '',
  `activityText` TEXT NOT NULL,
  `meta` JSON NULL,
  `activityDate` DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  KEY `ix_al_report` (`lab_id`,`category`,`labReportId`,`activityDate`),
  KEY `ix_al_bill` (`lab_id`,`billId`,`activityDate`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `bill_attachment` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `lab_id` INT NOT NULL,
  `bill_id` BIGINT NOT NULL,
  `category` VARCHAR(32) NOT NULL,                     -- smart_report | image | document | prescription | ...
  `file_path` VARCHAR(1024) NOT NULL,
  `is_active` TINYINT NOT NULL DEFAULT 1,
  KEY `ix_ba_bill` (`bill_id`,`is_active`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `finance_insurance_claim` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `bill_id` BIGINT NOT NULL,
  KEY `ix1` (`bill_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `finance_bill_claim_relation` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `finance_claim_provider_info` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `patient_home_collection` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `patient_emr_appointments` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `payments_payment_gateway_transactions` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `crm_kit` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `integration_shipping_details` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `patient_linked_bill` LIKE `finance_insurance_claim`;      -- also the ABDM link table

CREATE TABLE IF NOT EXISTS `account_processed_file` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `patient_b2b_patient` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `finance_bill_classifier_tags` LIKE `finance_insurance_claim`;

CREATE TABLE IF NOT EXISTS `finance_claim_test_relation` (
  `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `bill_id` BIGINT NULL,
  `billing_info_id` BIGINT NULL,
  KEY `ix1` (`bill_id`),
  KEY `ix2` (`billing_info_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `integration_test_clinical_info` LIKE `finance_claim_test_relation`;
