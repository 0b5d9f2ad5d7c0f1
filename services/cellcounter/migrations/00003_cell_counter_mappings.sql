-- lab_id NULL is the default mapping; lab_scope makes the unique indexes hold for it, where NULLs would be distinct.
-- +goose Up
CREATE TABLE IF NOT EXISTS cell_counter_mappings (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  test_id INT NOT NULL,
  lab_id INT NULL,
  lab_scope INT GENERATED ALWAYS AS (IFNULL(lab_id, 0)) STORED,
  `key` VARCHAR(16) NOT NULL,
  cell_id INT NOT NULL,
  report_format_index INT NOT NULL,
  report_format_order INT NOT NULL,
  include_in_total TINYINT NOT NULL DEFAULT 1,
  created_by INT NULL,
  updated_by INT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE KEY uq_ccm_key (test_id, lab_scope, `key`),
  UNIQUE KEY uq_ccm_param (test_id, lab_scope, report_format_index, report_format_order),
  CONSTRAINT fk_ccm_cell FOREIGN KEY (cell_id) REFERENCES cells (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
