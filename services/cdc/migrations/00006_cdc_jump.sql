-- A connector that begins to read at a new place leaves out what came before it. Until its first beat from there has
-- arrived, a row of cdc_walk named jump:<connector> says so (last_user_id 0: it is to forget its place, 1: it has; mark:
-- when, in milliseconds): then every patient is computed again. Connectors take no snapshot of rows, so a new platform
-- begins with these.
-- +goose Up
INSERT IGNORE INTO cdc_walk (name, last_user_id, mark) VALUES ('jump:source-existing', 1, 0), ('jump:source-projection', 1, 0);

-- +goose Down
DELETE FROM cdc_walk WHERE name LIKE 'jump:%';
