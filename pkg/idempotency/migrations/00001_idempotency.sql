-- Answers by idempotency key, for a day.
-- +goose Up
CREATE TABLE IF NOT EXISTS idempotency_service (
  lab_id INT NOT NULL,
  key_hash BINARY(32) NOT NULL,
  request_hash BINARY(32) NOT NULL,
  status SMALLINT NULL,
  response MEDIUMBLOB NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (lab_id, key_hash),
  KEY ix_idem_expires (expires_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
