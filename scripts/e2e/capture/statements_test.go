package capture

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// foreign are statements on tables and objects that are not captured, including all that the connectors' grammar is
// known not to support. Statements that the server refuses are skipped.
var foreign = []string{
	"CREATE TABLE o_inet6 (id INT PRIMARY KEY, ip INET6 NULL)",
	"CREATE TABLE o_inet4 (id INT PRIMARY KEY, ip INET4 NULL)",
	"CREATE TABLE o_compressed (id INT PRIMARY KEY, t TEXT COMPRESSED)",
	"CREATE TABLE o_uuid (id UUID PRIMARY KEY DEFAULT UUID())",
	"CREATE TABLE o_plain (id INT PRIMARY KEY, a INT, b VARCHAR(20), d DATE, m DECIMAL(10,2))",
	"ALTER TABLE o_plain ADD COLUMN ip INET6 NULL",
	"ALTER TABLE o_plain ADD COLUMN after_ip INT AFTER ip",
	"ALTER TABLE o_plain DROP COLUMN ip",
	"ALTER TABLE o_plain ADD COLUMN tt TEXT COMPRESSED NULL AFTER id",
	"ALTER TABLE o_plain MODIFY COLUMN tt VARCHAR(50) NULL",
	"ALTER TABLE o_plain CHANGE COLUMN a a2 BIGINT NOT NULL DEFAULT 7",
	"ALTER TABLE o_plain RENAME COLUMN b TO b2",
	"ALTER TABLE o_plain ADD INDEX i (b2) COMMENT 'it''s an index'",
	"ALTER TABLE o_plain ALTER INDEX i IGNORED",
	"ALTER TABLE o_plain ALTER INDEX i INVISIBLE",
	"ALTER TABLE o_plain ADD COLUMN v INT AS (a2 * 2) VIRTUAL, ALGORITHM=INSTANT, LOCK=NONE",
	"ALTER TABLE o_plain ADD COLUMN p INT AS (a2 * 2) PERSISTENT",
	"ALTER TABLE o_plain ADD CONSTRAINT positive CHECK (a2 > 0)",
	"ALTER TABLE o_plain DROP CONSTRAINT positive",
	"ALTER TABLE o_plain CONVERT TO CHARACTER SET latin1",
	"ALTER TABLE o_plain DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, COMMENT='other'",
	"ALTER TABLE o_plain ADD SYSTEM VERSIONING",
	"ALTER TABLE o_plain DROP SYSTEM VERSIONING",
	"ALTER TABLE o_plain ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
	"ALTER TABLE o_plain FORCE",
	"ALTER TABLE o_plain WAIT 5 ADD COLUMN w INT",
	"ALTER TABLE o_plain NOWAIT DROP COLUMN w",
	"CREATE TABLE o_versioned (id INT PRIMARY KEY, x INT) WITH SYSTEM VERSIONING",
	"CREATE TABLE o_period (id INT, s DATE, e DATE, PERIOD FOR p (s, e), UNIQUE (id, p WITHOUT OVERLAPS))",
	"CREATE TABLE o_parts (id INT PRIMARY KEY, y INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
	"ALTER TABLE o_parts REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN MAXVALUE)",
	"ALTER TABLE o_parts CONVERT PARTITION p0 TO TABLE o_part0",
	"ALTER TABLE o_parts TRUNCATE PARTITION p1",
	"ALTER TABLE o_parts REMOVE PARTITIONING",
	"CREATE TABLE o_defaults (id INT PRIMARY KEY, u CHAR(36) DEFAULT (UUID()), t DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), e ENUM('a','b''c') DEFAULT 'a', s SET('x','y'), j JSON, g GEOMETRY, b BIT(3) DEFAULT b'101')",
	"CREATE TABLE o_vector (id INT PRIMARY KEY, v VECTOR(3) NOT NULL)",
	"CREATE TABLE o_like LIKE o_defaults",
	"CREATE TABLE o_as SELECT 1 AS one, 'x' AS letter",
	"CREATE OR REPLACE TABLE o_as (id INT INVISIBLE DEFAULT 1, x INT)",
	"CREATE TEMPORARY TABLE o_temporary (id INT)",
	"RENAME TABLE o_like TO o_liked",
	"CREATE SEQUENCE o_sequence START WITH 100 INCREMENT BY 10",
	"ALTER SEQUENCE o_sequence RESTART 7",
	"DROP SEQUENCE o_sequence",
	"CREATE VIEW o_view AS SELECT id FROM o_plain",
	"ALTER VIEW o_view AS SELECT id, b2 FROM o_plain",
	"CREATE OR REPLACE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW o_view AS SELECT 1 AS x",
	"DROP VIEW o_view",
	"CREATE PROCEDURE o_procedure(IN a INT, OUT b INT) SELECT a + 1 INTO b",
	"CREATE FUNCTION o_function(a INT) RETURNS INT DETERMINISTIC NO SQL RETURN a + 1",
	"CREATE TRIGGER o_trigger BEFORE INSERT ON o_plain FOR EACH ROW SET NEW.b2 = UPPER(NEW.b2)",
	"CREATE EVENT o_event ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1",
	"ALTER EVENT o_event COMMENT 'nightly'",
	"DROP EVENT o_event",
	"DROP TRIGGER o_trigger",
	"DROP FUNCTION o_function",
	"DROP PROCEDURE o_procedure",
	"ALTER DATABASE lab COMMENT 'laboratory'",
	"ALTER DATABASE lab CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
	"CREATE USER 'o_user'@'%' IDENTIFIED BY 'secret-of-the-user'",
	"GRANT SELECT ON lab.o_plain TO 'o_user'@'%'",
	"CREATE ROLE o_role",
	"DROP ROLE o_role",
	"DROP USER 'o_user'@'%'",
	"ANALYZE TABLE o_plain",
	"OPTIMIZE TABLE o_plain",
	"FLUSH TABLES o_plain",
	"TRUNCATE TABLE o_plain",
	"CREATE INDEX o_prefix ON o_plain (b2(5) DESC)",
	"DROP INDEX o_prefix ON o_plain",
	"CREATE FULLTEXT INDEX o_text ON o_plain (b2)",
	"DROP TABLE IF EXISTS o_inet6, o_inet4, o_compressed, o_uuid, o_plain, o_versioned, o_period, o_parts, o_part0, o_defaults, o_vector, o_liked, o_as",
}

// Statements of other programs on tables that are not captured must not stop the connectors: changes of patients arrive
// within seconds, without an operator.
func TestStatementsOnOtherTablesDoNotStopTheConnectors(t *testing.T) {
	db := database(t)
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	known, slowest := 0, time.Duration(0)
	for i, query := range foreign {
		if _, err := db.Exec(query); err != nil {
			t.Logf("left out: %s: %v", query, err)
			continue
		}
		known++
		slowest = max(slowest, follows(t, db, 922_000+i, query))
	}
	await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	if known < 40 {
		t.Errorf("the server knows %d of %d statements, want at least 40", known, len(foreign))
	}
	t.Logf("%d statements, the slowest patient behind one arrived after %.1f s", known, slowest.Seconds())
	converge(t, db)
}

// If a captured table has a definition that the connectors cannot read, the verbs name it and the solution. Once the
// table is changed, the connectors start over by themselves, and rows inserted meanwhile are found. A definition that
// they can read has no effect.
func TestStatementsOnACapturedTablePassOrSayWhatToDo(t *testing.T) {
	db := database(t)
	cdc := &consumer{name: "cdc", http: platform.Endpoints.CDC}
	await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	must := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: got error %v, want none", query, err)
		}
	}
	for i, statements := range [][2]string{
		{"ALTER TABLE userDetails ADD COLUMN o_note VARCHAR(8) NULL AFTER labId_id", "ALTER TABLE userDetails DROP COLUMN o_note"},
		{"ALTER TABLE userDetails ADD COLUMN o_json JSON NULL, ADD INDEX o_index (createdOn)", "ALTER TABLE userDetails DROP INDEX o_index, DROP COLUMN o_json"},
		{"ALTER TABLE billing ADD COLUMN o_generated INT AS (id * 2) VIRTUAL", "ALTER TABLE billing DROP COLUMN o_generated"},
	} {
		must(statements[0])
		follows(t, db, 923_000+2*i, statements[0])
		must(statements[1])
		follows(t, db, 923_001+2*i, statements[1])
	}
	if _, err := db.Exec("ALTER TABLE userDetails ADD COLUMN o_ip INET6 NULL"); err != nil {
		t.Skipf("this server has no type that the connectors cannot read: %v", err)
	}
	must("INSERT INTO userDetails (id, labId_id, fullName) VALUES (923100, 12, 'Behind The Type')")
	await.Nil(t, "the connector that does not know the table", func() error { return connectorsUp(cdc, "0 1") })
	out, err := verb(t, "connectors", "check")
	if err == nil || !strings.Contains(out, "table userDetails has a column of type INET6") || !strings.Contains(out, "CAPTURED") {
		t.Errorf("check says %v and\n%s\nwant the captured table and its column", err, out)
	}
	if out, err = verb(t, "connectors", "recover"); err == nil {
		t.Errorf("recover started over although the table cannot be read:\n%s", out)
	}
	if out, _ = verb(t, "connectors", "status"); !strings.Contains(out, "cdc connectors recover") {
		t.Errorf("status does not tell the way out:\n%s", out)
	}
	must("ALTER TABLE userDetails DROP COLUMN o_ip")
	begin := time.Now()
	await.Nil(t, "the patient behind the type", func() error { return shown(923100, "Behind The Type") })
	await.Nil(t, "both connectors being up", func() error { return connectorsUp(cdc, "1 1") })
	t.Logf("the patient was found %.1f s after the column was dropped", time.Since(begin).Seconds())
	operate(t, "connectors", "recover") // an operator may also start over by hand
	follows(t, db, 923_101, "recover")
	converge(t, db)
}

// follows registers a patient after a statement and returns the time until the index has the patient.
func follows(t *testing.T, db *sql.DB, id int, statement string) time.Duration {
	t.Helper()
	name := fmt.Sprint("Behind ", id)
	if _, err := db.Exec("INSERT INTO userDetails (id, labId_id, fullName) VALUES (?, 12, ?)", id, name); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	await.Nil(t, "a patient behind "+statement, func() error { return shown(id, name) })
	return time.Since(begin)
}
