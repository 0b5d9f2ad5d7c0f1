-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- The last bill number of each laboratory. Its row is locked from the taking of a number to the end of the transaction, so a
-- split that fails leaves no gap.
CREATE TABLE IF NOT EXISTS lab_bill_counter (
  lab_id INT NOT NULL PRIMARY KEY,
  last_lab_bill_id INT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- One row for each split: what moved, and the amounts of both bills before and after. It proves a split and undoes it. moved_rows
-- are the moved rows as they were, and parent_version is billing.version of the old bill after the split: undoing compares both.
-- created_by_kind names the table of created_by: lab_user, doctor, support, platform.
CREATE TABLE IF NOT EXISTS bill_split_audit (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  parent_bill_id BIGINT NOT NULL,
  new_bill_id BIGINT NOT NULL,
  moved_billing_info_ids JSON NOT NULL,
  moved_rows JSON NULL,
  parent_version INT NOT NULL DEFAULT 0,
  before_values JSON NOT NULL,
  after_parent_values JSON NOT NULL,
  after_new_values JSON NOT NULL,
  created_by INT NULL,
  created_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  UNIQUE KEY uq_bsa_new (new_bill_id),
  KEY ix_bsa_parent (parent_bill_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- Splits that were undone, by whom and when (epoch milliseconds). The row of bill_split_audit stays as it is.
CREATE TABLE IF NOT EXISTS bill_split_merge (
  new_bill_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  merged_by INT NULL,
  merged_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  merged_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
