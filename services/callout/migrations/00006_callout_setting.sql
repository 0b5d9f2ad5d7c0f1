-- What a laboratory decides for itself. A laboratory without a row has the defaults of the deployment.
-- escalate_after_minutes: NULL is the default. repeat_within_hours: a critical value that is like one of the same patient
-- which was called within that time needs no call; 0 turns that off.
-- +goose Up
CREATE TABLE IF NOT EXISTS callout_setting (
  lab_id INT NOT NULL PRIMARY KEY,
  escalate_after_minutes INT NULL,
  repeat_within_hours INT NOT NULL DEFAULT 0
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

-- +goose Down
DROP TABLE callout_setting;
