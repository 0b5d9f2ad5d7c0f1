-- The present WhatsApp consent of each recipient: the last row of the ledger, written in its transaction. A new
-- table: no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS whatsapp_consent (
  lab_id INT NOT NULL,
  cache_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  type VARCHAR(32) NOT NULL,
  details JSON NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, cache_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE whatsapp_consent;
