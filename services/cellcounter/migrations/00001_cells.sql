-- The cells that can be counted. A laboratory does not own them: they are the platform's reference data.
-- +goose Up
CREATE TABLE IF NOT EXISTS cells (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(128) NOT NULL,
  bg_color_hex VARCHAR(9) NOT NULL DEFAULT '#FFFFFF',
  fg_color_hex VARCHAR(9) NOT NULL DEFAULT '#000000',
  default_key VARCHAR(16) NOT NULL DEFAULT '',
  is_disable TINYINT NOT NULL DEFAULT 0,
  created_at INT NOT NULL,
  updated_at INT NOT NULL,
  UNIQUE KEY uq_cells_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
