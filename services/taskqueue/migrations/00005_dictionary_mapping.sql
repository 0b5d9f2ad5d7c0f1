-- Dictionary mappings by laboratory, 0 for those of internal services; the newest accepted mapping of a keyword
-- wins. A new table: no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS dictionary_mapping (
  lab_id INT NOT NULL,
  keyword VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  data JSON NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, keyword)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE dictionary_mapping;
