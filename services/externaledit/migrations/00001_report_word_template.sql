-- Word templates. lab_id NULL is a template of the platform, which every laboratory may use.
-- +goose Up
CREATE TABLE IF NOT EXISTS report_word_template (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  lab_id INT NULL,
  test_id INT NULL,
  name VARCHAR(255) NOT NULL,
  word_s3_filepath VARCHAR(1024) NOT NULL,
  is_disabled TINYINT NOT NULL DEFAULT 0,
  KEY ix_rwt_lab (lab_id, test_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
