-- What the connectors and the consumer say to each other through the database. New tables: no lock on anything that
-- exists. The connectors read cdc_signal by position: exactly three columns, in this order, for ever.
-- +goose Up
CREATE TABLE IF NOT EXISTS cdc_signal (
  id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  type VARCHAR(32) NOT NULL,
  data VARCHAR(2048) NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- One row per connector, touched on an interval; captured, so that a quiet night does not look like an outage.
CREATE TABLE IF NOT EXISTS cdc_heartbeat (
  id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  beat_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- How far the consumer applied each connector's beat; not captured.
CREATE TABLE IF NOT EXISTS cdc_progress (
  connector VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  beat_at BIGINT NOT NULL,
  applied_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE cdc_progress;
DROP TABLE cdc_heartbeat;
DROP TABLE cdc_signal;
