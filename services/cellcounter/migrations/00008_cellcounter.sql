-- The tables of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- +goose Up
-- The cells that can be counted: reference data of the platform, not of a laboratory. The white cell count is corrected by the
-- nucleated red cell and by no other cell that is counted apart.
CREATE TABLE IF NOT EXISTS cells (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(128) NOT NULL,
  bg_color_hex VARCHAR(9) NOT NULL DEFAULT '#FFFFFF',
  fg_color_hex VARCHAR(9) NOT NULL DEFAULT '#000000',
  default_key VARCHAR(16) NOT NULL DEFAULT '',
  is_disable TINYINT NOT NULL DEFAULT 0,
  is_nucleated_red TINYINT NOT NULL DEFAULT 0,
  created_at INT NOT NULL,
  updated_at INT NOT NULL,
  UNIQUE KEY uq_cells_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The cells of a differential count with the keys that a new mapping is offered. An installation that has renamed or recoloured
-- one keeps its own.
INSERT IGNORE INTO cells (name, bg_color_hex, fg_color_hex, default_key, is_nucleated_red, created_at, updated_at) VALUES
  ('Neutrophil', '#4C6EF5', '#FFFFFF', 'n', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Band', '#364FC7', '#FFFFFF', 'b', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Lymphocyte', '#2B8A3E', '#FFFFFF', 'l', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Monocyte', '#E67700', '#000000', 'm', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Eosinophil', '#C92A2A', '#FFFFFF', 'e', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Basophil', '#5F3DC4', '#FFFFFF', 'o', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Metamyelocyte', '#1864AB', '#FFFFFF', 't', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Myelocyte', '#0B7285', '#FFFFFF', 'y', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Promyelocyte', '#087F5B', '#FFFFFF', 'p', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Blast', '#212529', '#FFFFFF', 'x', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Atypical lymphocyte', '#A9E34B', '#000000', 'a', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Plasma cell', '#862E9C', '#FFFFFF', 'c', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('NRBC', '#FFA8A8', '#000000', 'r', 1, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Other', '#868E96', '#000000', 'z', 0, UNIX_TIMESTAMP(), UNIX_TIMESTAMP());

-- lab_id NULL is the default mapping; lab_scope makes the unique indexes hold for it, where NULLs would be distinct. key_folded:
-- Caps Lock does not change a count, but o is not ö, which the collation of `key` takes for the same. created_by_kind and
-- updated_by_kind name the table of the id: lab_user, doctor, support, platform.
CREATE TABLE IF NOT EXISTS cell_counter_mappings (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  test_id INT NOT NULL,
  lab_id INT NULL,
  lab_scope INT GENERATED ALWAYS AS (IFNULL(lab_id, 0)) STORED,
  `key` VARCHAR(16) NOT NULL,
  key_folded VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin GENERATED ALWAYS AS (LOWER(`key`)) STORED,
  cell_id INT NOT NULL,
  report_format_index INT NOT NULL,
  report_format_order INT NOT NULL,
  include_in_total TINYINT NOT NULL DEFAULT 1,
  created_by INT NULL,
  created_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  updated_by INT NULL,
  updated_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE KEY uq_ccm_param (test_id, lab_scope, report_format_index, report_format_order),
  UNIQUE KEY uq_ccm_folded (test_id, lab_scope, key_folded),
  CONSTRAINT fk_ccm_cell FOREIGN KEY (cell_id) REFERENCES cells (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- One row for each scope that was ever written: its lock orders the writers of the scope. lab_scope 0 is the default.
CREATE TABLE IF NOT EXISTS cell_counter_setting (
  test_id INT NOT NULL,
  lab_scope INT NOT NULL,
  target_count INT NOT NULL DEFAULT 100,
  PRIMARY KEY (test_id, lab_scope)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- The raw count of one observer on one report. What was counted is kept, not only what was reported: a difference of two
-- observers is judged on raw counts.
CREATE TABLE IF NOT EXISTS cell_count (
  lab_id INT NOT NULL,
  lab_report_id BIGINT NOT NULL,
  observer TINYINT NOT NULL,
  test_id INT NOT NULL,
  counts JSON NOT NULL,
  counted_by BIGINT NOT NULL,
  counted_by_kind VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  counted_by_name VARCHAR(255) NOT NULL DEFAULT '',
  counted_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, lab_report_id, test_id, observer)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
