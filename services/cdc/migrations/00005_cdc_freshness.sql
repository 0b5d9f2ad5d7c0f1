-- Two things that cdc_progress cannot say: up to when everything is searchable, over both hops of the pipeline, and how
-- far the walk over all patients has come. Not captured. New tables: no lock on anything that exists.
-- +goose Up
CREATE TABLE IF NOT EXISTS cdc_freshness (
  id TINYINT NOT NULL PRIMARY KEY,
  complete_at BIGINT NOT NULL,
  candidate_at BIGINT NOT NULL,
  candidate_applied_at BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS cdc_walk (
  name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
  last_user_id BIGINT NOT NULL,
  mark BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- A walk that is under way goes on from where it stands.
INSERT IGNORE INTO cdc_walk (name, last_user_id, mark)
SELECT 'user_meta', beat_at, applied_at FROM cdc_progress WHERE connector = 'walk:user_meta';

DELETE FROM cdc_progress WHERE connector = 'walk:user_meta';

-- +goose Down
INSERT IGNORE INTO cdc_progress (connector, beat_at, applied_at)
SELECT 'walk:user_meta', last_user_id, mark FROM cdc_walk WHERE name = 'user_meta';

DROP TABLE cdc_walk;
DROP TABLE cdc_freshness;
