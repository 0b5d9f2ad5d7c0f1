-- A database user for each service, with what it needs to serve: everything in its own tables, and what it reads and
-- writes of the core's. Replace the database "lab" and each <password>. Migrations run as another user, who may create,
-- alter, index and drop tables, and read and write them. The black-box tests run the services as these very users.
--
-- First the two users of the handbook's commands, which need no table to exist: on a new server run this part, restore,
-- then run the whole file. backup reads every table, so that a dump has all of them; a service's user sees its own alone.
-- /*! is read by MySQL 8.0.20 and 8.4 or newer, /*M! by MariaDB. On MySQL 8.0 the right to keep definers is another one:
-- GRANT SET_USER_ID ON *.* TO 'restore'@'%'.

CREATE USER IF NOT EXISTS 'backup'@'%' IDENTIFIED BY '<password>';
GRANT SELECT, LOCK TABLES, SHOW VIEW, TRIGGER, EVENT ON lab.* TO 'backup'@'%';
GRANT RELOAD, PROCESS /*!80020 , SHOW_ROUTINE */ /*M! , LOCK TABLES, BINLOG MONITOR, REPLICATION SLAVE */ ON *.* TO 'backup'@'%';
/*M! GRANT SELECT ON mysql.proc TO 'backup'@'%' */;

CREATE USER IF NOT EXISTS 'restore'@'%' IDENTIFIED BY '<password>';
GRANT ALL PRIVILEGES ON lab.* TO 'restore'@'%';
/*!80400 GRANT SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER ON *.* TO 'restore'@'%' */;
/*M! GRANT SET USER, BINLOG REPLAY ON *.* TO 'restore'@'%' */;

CREATE USER IF NOT EXISTS 'billsplit'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_billsplit TO 'billsplit'@'%';
GRANT SELECT ON lab.goose_idempotency_billsplit TO 'billsplit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.lab_bill_counter TO 'billsplit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.bill_split_audit TO 'billsplit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.bill_split_merge TO 'billsplit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.idempotency_billsplit TO 'billsplit'@'%';
GRANT SELECT, INSERT, UPDATE ON lab.billing TO 'billsplit'@'%';
GRANT SELECT, UPDATE ON lab.billingInfo TO 'billsplit'@'%';
GRANT SELECT, UPDATE ON lab.labReportRelation TO 'billsplit'@'%';
GRANT SELECT, UPDATE ON lab.bill_attachment TO 'billsplit'@'%';
GRANT SELECT ON lab.reportValues TO 'billsplit'@'%';
GRANT INSERT ON lab.ActivityLog TO 'billsplit'@'%';
GRANT SELECT ON lab.AllTests TO 'billsplit'@'%';
GRANT SELECT ON lab.labs TO 'billsplit'@'%';
GRANT SELECT ON lab.organization TO 'billsplit'@'%';
GRANT SELECT ON lab.userDetails TO 'billsplit'@'%';
GRANT SELECT ON lab.finance_insurance_claim TO 'billsplit'@'%';
GRANT SELECT ON lab.finance_bill_claim_relation TO 'billsplit'@'%';
GRANT SELECT ON lab.finance_claim_test_relation TO 'billsplit'@'%';
GRANT SELECT ON lab.finance_claim_provider_info TO 'billsplit'@'%';
GRANT SELECT ON lab.patient_home_collection TO 'billsplit'@'%';
GRANT SELECT ON lab.patient_emr_appointments TO 'billsplit'@'%';
GRANT SELECT ON lab.payments_payment_gateway_transactions TO 'billsplit'@'%';
GRANT SELECT ON lab.crm_kit TO 'billsplit'@'%';
GRANT SELECT ON lab.integration_shipping_details TO 'billsplit'@'%';
GRANT SELECT ON lab.patient_linked_bill TO 'billsplit'@'%';
GRANT SELECT ON lab.account_processed_file TO 'billsplit'@'%';
GRANT SELECT ON lab.patient_b2b_patient TO 'billsplit'@'%';
GRANT SELECT ON lab.integration_test_clinical_info TO 'billsplit'@'%';
GRANT SELECT ON lab.finance_bill_classifier_tags TO 'billsplit'@'%';

CREATE USER IF NOT EXISTS 'callout'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_callout TO 'callout'@'%';
GRANT SELECT ON lab.goose_outbox_callout TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.CriticalCallout TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_correction TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_episode TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_escalation TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_evaluation TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_input TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_reach TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_setting TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_statement TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_sweep TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_unclear TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.callout_unconfirmed TO 'callout'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.outbox_callout TO 'callout'@'%';
GRANT SELECT, UPDATE ON lab.billing TO 'callout'@'%';
GRANT SELECT, UPDATE ON lab.labReportRelation TO 'callout'@'%';
GRANT SELECT, INSERT ON lab.ActivityLog TO 'callout'@'%';
GRANT SELECT ON lab.AllTests TO 'callout'@'%';
GRANT SELECT ON lab.DoctorDepartmentRelation TO 'callout'@'%';
GRANT SELECT ON lab.LabUserDepartmentRelation TO 'callout'@'%';
GRANT SELECT ON lab.ReportFormat TO 'callout'@'%';
GRANT SELECT ON lab.ReportFormatRange TO 'callout'@'%';
GRANT SELECT ON lab.billingInfo TO 'callout'@'%';
GRANT SELECT ON lab.department TO 'callout'@'%';
GRANT SELECT ON lab.doctorDetails TO 'callout'@'%';
GRANT SELECT ON lab.labUser TO 'callout'@'%';
GRANT SELECT ON lab.labs TO 'callout'@'%';
GRANT SELECT ON lab.organization TO 'callout'@'%';
GRANT SELECT ON lab.reportValues TO 'callout'@'%';
GRANT SELECT ON lab.userDetails TO 'callout'@'%';

CREATE USER IF NOT EXISTS 'cdc'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_cdc TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.user_meta TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cdc_signal TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cdc_heartbeat TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cdc_progress TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cdc_cursor TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cdc_freshness TO 'cdc'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cdc_walk TO 'cdc'@'%';
GRANT SELECT ON lab.billing TO 'cdc'@'%';
GRANT SELECT ON lab.labReportRelation TO 'cdc'@'%';
GRANT SELECT ON lab.labs TO 'cdc'@'%';
GRANT SELECT ON lab.userDetails TO 'cdc'@'%';

CREATE USER IF NOT EXISTS 'cellcounter'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_cellcounter TO 'cellcounter'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cell_count TO 'cellcounter'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cell_counter_mappings TO 'cellcounter'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.cell_counter_setting TO 'cellcounter'@'%';
GRANT SELECT, UPDATE ON lab.labReportRelation TO 'cellcounter'@'%';
GRANT INSERT ON lab.ActivityLog TO 'cellcounter'@'%';
GRANT SELECT ON lab.AllTests TO 'cellcounter'@'%';
GRANT SELECT ON lab.ReportFormat TO 'cellcounter'@'%';
GRANT SELECT ON lab.billing TO 'cellcounter'@'%';
GRANT SELECT ON lab.cells TO 'cellcounter'@'%';
GRANT SELECT ON lab.reportValues TO 'cellcounter'@'%';
GRANT SELECT ON lab.userDetails TO 'cellcounter'@'%';

CREATE USER IF NOT EXISTS 'externaledit'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_externaledit TO 'externaledit'@'%';
GRANT SELECT ON lab.goose_outbox_externaledit TO 'externaledit'@'%';
GRANT SELECT ON lab.goose_idempotency_externaledit TO 'externaledit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.external_edit_session TO 'externaledit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.external_edit_revision TO 'externaledit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.external_edit_upload TO 'externaledit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.idempotency_externaledit TO 'externaledit'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.outbox_externaledit TO 'externaledit'@'%';
GRANT SELECT, UPDATE ON lab.labReportRelation TO 'externaledit'@'%';
GRANT SELECT, INSERT ON lab.ActivityLog TO 'externaledit'@'%';
GRANT SELECT ON lab.AllTests TO 'externaledit'@'%';
GRANT SELECT ON lab.billing TO 'externaledit'@'%';
GRANT SELECT ON lab.doctorDetails TO 'externaledit'@'%';
GRANT SELECT ON lab.labUser TO 'externaledit'@'%';
GRANT SELECT ON lab.labs TO 'externaledit'@'%';
GRANT SELECT ON lab.report_word_template TO 'externaledit'@'%';
GRANT SELECT ON lab.userDetails TO 'externaledit'@'%';

CREATE USER IF NOT EXISTS 'notifications'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_notifications TO 'notifications'@'%';
GRANT SELECT ON lab.goose_outbox_notifications TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.FcmDevices TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.LabNotificationTypes TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.LoginNotificationPreferences TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.NotificationActivity TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.NotificationReadMark TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.NotificationReadState TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.NotificationWithdrawals TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.Notifications TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.UserNotificationPreferences TO 'notifications'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.outbox_notifications TO 'notifications'@'%';
GRANT INSERT ON lab.ActivityLog TO 'notifications'@'%';
GRANT SELECT ON lab.NotificationTypesMaster TO 'notifications'@'%';
GRANT SELECT ON lab.labUser TO 'notifications'@'%';
GRANT SELECT ON lab.labReportRelation TO 'notifications'@'%';
GRANT SELECT ON lab.labs TO 'notifications'@'%';
GRANT SELECT ON lab.doctorDetails TO 'notifications'@'%';

CREATE USER IF NOT EXISTS 'rerun'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_outbox_rerun TO 'rerun'@'%';
GRANT SELECT ON lab.goose_rerun TO 'rerun'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.outbox_rerun TO 'rerun'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.rerun_unconfirmed TO 'rerun'@'%';
GRANT SELECT, UPDATE ON lab.labReportRelation TO 'rerun'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.reportValues TO 'rerun'@'%';
GRANT SELECT, INSERT ON lab.ActivityLog TO 'rerun'@'%';
GRANT SELECT ON lab.AllTests TO 'rerun'@'%';
GRANT SELECT ON lab.ReportFormat TO 'rerun'@'%';
GRANT SELECT ON lab.ReportFormatRange TO 'rerun'@'%';
GRANT SELECT ON lab.billing TO 'rerun'@'%';
GRANT SELECT ON lab.billingInfo TO 'rerun'@'%';
GRANT SELECT ON lab.labs TO 'rerun'@'%';
GRANT SELECT ON lab.userDetails TO 'rerun'@'%';
GRANT SELECT ON lab.labUser TO 'rerun'@'%';

CREATE USER IF NOT EXISTS 'search'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.billing TO 'search'@'%';
GRANT SELECT ON lab.userDetails TO 'search'@'%';
GRANT SELECT ON lab.labReportRelation TO 'search'@'%';
GRANT SELECT ON lab.user_meta TO 'search'@'%';
GRANT SELECT ON lab.cdc_freshness TO 'search'@'%';
GRANT SELECT ON lab.labs TO 'search'@'%';
GRANT SELECT ON lab.organization TO 'search'@'%';
GRANT SELECT ON lab.AllTests TO 'search'@'%';

CREATE USER IF NOT EXISTS 'taskqueue'@'%' IDENTIFIED BY '<password>';
GRANT SELECT ON lab.goose_taskqueue TO 'taskqueue'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.tq_archive TO 'taskqueue'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.whatsapp_consent TO 'taskqueue'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.whatsapp_consent_log TO 'taskqueue'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON lab.dictionary_mapping TO 'taskqueue'@'%';
GRANT SELECT ON lab.tq_provider TO 'taskqueue'@'%';
GRANT SELECT ON lab.tq_sender TO 'taskqueue'@'%';
GRANT SELECT ON lab.labs TO 'taskqueue'@'%';
GRANT SELECT ON lab.tq_webhook_secret TO 'taskqueue'@'%';
