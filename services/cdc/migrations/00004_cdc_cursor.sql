-- How far work that goes round and round has come, whichever process does it; not captured. A new table: no lock on
-- anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS cdc_cursor (
  name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE cdc_cursor;
