-- Tables of services/cellcounter. Delete this file when the service's own migrations make them.

CREATE TABLE IF NOT EXISTS `cells` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `name` VARCHAR(128) NOT NULL,
  `bg_color_hex` VARCHAR(9) NOT NULL DEFAULT '#FFFFFF',
  `fg_color_hex` VARCHAR(9) NOT NULL DEFAULT '#000000',
  `default_key` VARCHAR(16) NOT NULL DEFAULT '',
  `is_disable` TINYINT NOT NULL DEFAULT 0,
  `created_at` INT NOT NULL,
  `updated_at` INT NOT NULL,
  UNIQUE KEY `uq_cells_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `cell_counter_mappings` (
  `id` INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  `test_id` INT NOT NULL,
  `lab_id` INT NULL,                                   -- NULL = default mapping
  `lab_scope` INT GENERATED ALWAYS AS (IFNULL(`lab_id`, 0)) STORED,
  `key` VARCHAR(16) NOT NULL,
  `cell_id` INT NOT NULL,
  `report_format_index` INT NOT NULL,
  `report_format_order` INT NOT NULL,
  `include_in_total` TINYINT NOT NULL DEFAULT 1,       -- 0: counted apart (NRBC)
  `created_by` INT NULL,
  `updated_by` INT NULL,
  `created_at` BIGINT NOT NULL,
  `updated_at` BIGINT NOT NULL,
  UNIQUE KEY `uq_ccm_key` (`test_id`,`lab_scope`,`key`),
  UNIQUE KEY `uq_ccm_param` (`test_id`,`lab_scope`,`report_format_index`,`report_format_order`),
  CONSTRAINT `fk_ccm_cell` FOREIGN KEY (`cell_id`) REFERENCES `cells` (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;

CREATE TABLE IF NOT EXISTS `cell_counter_setting` (
  `test_id` INT NOT NULL,
  `lab_scope` INT NOT NULL,                            -- 0 = default
  `target_count` INT NOT NULL DEFAULT 100,
  PRIMARY KEY (`test_id`,`lab_scope`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
