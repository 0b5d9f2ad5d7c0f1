-- The two types of the interface document. Titles and bodies are shown on lock screens, so they name no patient. An
-- installation that has worded its own keeps it.
-- +goose Up
INSERT IGNORE INTO NotificationTypesMaster (id, category, name, description, user_category, default_message_params, `order`) VALUES
  (1, 'report', 'organisation_report_ready', 'A report of the organisation is ready', 'org', '{"title":"Report ready","body":"A report of your organisation is ready."}', 1),
  (2, 'report', 'critical_report', 'A report has a critical result', 'org', '{"title":"Critical report","body":"A report has a critical result. Open it now."}', 2);
