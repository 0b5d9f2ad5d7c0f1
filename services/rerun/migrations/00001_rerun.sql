-- +goose Up
-- What the callout service was told last about the received and unconfirmed values of a report. as_of (epoch microseconds) grows
-- with each change of the set; digest is empty when there are none. Rows without values are deleted after 30 days.
CREATE TABLE IF NOT EXISTS rerun_unconfirmed (
  lab_id INT NOT NULL,
  lab_report_id INT NOT NULL,
  as_of BIGINT NOT NULL,
  digest CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  PRIMARY KEY (lab_id, lab_report_id),
  KEY ix_rerun_unconfirmed_ended (digest, as_of)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
