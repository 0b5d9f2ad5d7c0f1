-- The append-only ledger of WhatsApp consents. A new table: no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS whatsapp_consent_log (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NOT NULL,
  cache_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  type VARCHAR(32) NOT NULL,
  recipient_hash BINARY(32) NULL,
  category VARCHAR(32) NOT NULL DEFAULT '',
  source VARCHAR(64) NOT NULL DEFAULT '',
  actor VARCHAR(64) NOT NULL DEFAULT '',
  ip VARCHAR(45) NOT NULL DEFAULT '',
  user_agent VARCHAR(255) NOT NULL DEFAULT '',
  details JSON NOT NULL,
  created_at BIGINT NOT NULL,
  KEY ix_wcl_key (lab_id, cache_key, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE whatsapp_consent_log;
