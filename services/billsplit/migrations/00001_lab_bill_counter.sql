-- The last bill number of each laboratory. Its row is locked from the taking of a number to the end of the transaction,
-- so a split that fails leaves no gap.
-- +goose Up
CREATE TABLE IF NOT EXISTS lab_bill_counter (
  lab_id INT NOT NULL PRIMARY KEY,
  last_lab_bill_id INT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
