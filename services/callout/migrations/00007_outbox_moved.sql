-- pkg/outbox makes the table of messages with migrations of its own. The number stays: databases of earlier releases
-- have it, and a release takes a greater number than its own for a newer release's.
-- +goose Up
DO 0;
