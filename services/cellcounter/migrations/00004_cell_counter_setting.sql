-- One row for each scope that was ever written: its lock orders the writers of the scope. lab_scope 0 is the default.
-- +goose Up
CREATE TABLE IF NOT EXISTS cell_counter_setting (
  test_id INT NOT NULL,
  lab_scope INT NOT NULL,
  target_count INT NOT NULL DEFAULT 100,
  PRIMARY KEY (test_id, lab_scope)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
