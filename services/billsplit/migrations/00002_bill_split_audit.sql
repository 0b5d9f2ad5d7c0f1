-- One row for each split: what moved, and the amounts of both bills before and after. It proves a split and undoes it.
-- +goose Up
CREATE TABLE IF NOT EXISTS bill_split_audit (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  parent_bill_id BIGINT NOT NULL,
  new_bill_id BIGINT NOT NULL,
  moved_billing_info_ids JSON NOT NULL,
  before_values JSON NOT NULL,
  after_parent_values JSON NOT NULL,
  after_new_values JSON NOT NULL,
  created_by INT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE KEY uq_bsa_new (new_bill_id),
  KEY ix_bsa_parent (parent_bill_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
