-- The cells of a differential count with the keys that a new mapping is offered. An installation that has renamed or
-- recoloured one keeps its own.
-- +goose Up
INSERT IGNORE INTO cells (name, bg_color_hex, fg_color_hex, default_key, created_at, updated_at) VALUES
  ('Neutrophil', '#4C6EF5', '#FFFFFF', 'n', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Band', '#364FC7', '#FFFFFF', 'b', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Lymphocyte', '#2B8A3E', '#FFFFFF', 'l', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Monocyte', '#E67700', '#000000', 'm', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Eosinophil', '#C92A2A', '#FFFFFF', 'e', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Basophil', '#5F3DC4', '#FFFFFF', 'o', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Metamyelocyte', '#1864AB', '#FFFFFF', 't', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Myelocyte', '#0B7285', '#FFFFFF', 'y', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Promyelocyte', '#087F5B', '#FFFFFF', 'p', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Blast', '#212529', '#FFFFFF', 'x', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Atypical lymphocyte', '#A9E34B', '#000000', 'a', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Plasma cell', '#862E9C', '#FFFFFF', 'c', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('NRBC', '#FFA8A8', '#000000', 'r', UNIX_TIMESTAMP(), UNIX_TIMESTAMP()),
  ('Other', '#868E96', '#000000', 'z', UNIX_TIMESTAMP(), UNIX_TIMESTAMP());
