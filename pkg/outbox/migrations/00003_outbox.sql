-- The table of version 1.0.0, the baseline. Its number follows those of the revisions before it, so that a database that has
-- all of them is at the baseline already.
-- Messages to other services, written in the transaction of the change that causes them. traceparent and request_id are those of
-- the request that caused the message.
--
-- ix_outbox_kind finds the due rows of one kind without reading those of a kind whose receiver is unavailable. ix_outbox_order
-- finds the earlier rows of an aggregate.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_service (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  aggregate VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  kind VARCHAR(48) NOT NULL,
  payload MEDIUMBLOB NOT NULL,
  dedupe_key VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
  created_at BIGINT NOT NULL,
  available_at BIGINT NOT NULL,
  attempts INT NOT NULL DEFAULT 0,
  last_error VARCHAR(512) NOT NULL DEFAULT '',
  traceparent VARCHAR(55) NOT NULL DEFAULT '',
  request_id VARCHAR(64) NOT NULL DEFAULT '',
  UNIQUE KEY uq_outbox_dedupe (dedupe_key),
  KEY ix_outbox_kind (kind, available_at, id),
  KEY ix_outbox_order (aggregate, available_at, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
