-- Splits that were undone: who did it, and when (epoch milliseconds). The row of bill_split_audit stays as it is.
-- +goose Up
CREATE TABLE IF NOT EXISTS bill_split_merge (
  new_bill_id BIGINT NOT NULL PRIMARY KEY,
  lab_id INT NOT NULL,
  merged_by INT NULL,
  merged_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
