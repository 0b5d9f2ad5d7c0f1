package restore

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

var (
	usersMade    = regexp.MustCompile(`CREATE USER IF NOT EXISTS '(\w+)'`)
	userNamed    = regexp.MustCompile(`--user[= ](\S+)`)
	newerServers = regexp.MustCompile(`/\*[!M].*?\*/`)
	helperUser   = regexp.MustCompile(`^(backup|restore)$`)
)

// databaseUsers returns the users in the handbook's file, in its order.
func databaseUsers(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/database-users.sql"))
	must(t, err)
	for _, found := range usersMade.FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	return names
}

// TestTheUsersAreMadeOnOlderServersToo checks the file with a server that skips comments for newer versions. If half a
// statement remained, the client would stop before it has created the services' users.
func TestTheUsersAreMadeOnOlderServersToo(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/database-users.sql"))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "--") {
			continue
		}
		left := strings.TrimSpace(newerServers.ReplaceAllString(line, ""))
		if strings.HasPrefix(left, "GRANT ON") || strings.Contains(left, "GRANT  ") || strings.Contains(left, ", ON") {
			t.Errorf("a server that is older or of another kind reads %s", left)
		}
	}
}

// TestTheHandbooksCommandsNameTheirUsers checks that commands name users whose rights the handbook gives. A command
// without a user would run as the current one, who may see only some of the tables.
func TestTheHandbooksCommandsNameTheirUsers(t *testing.T) {
	named := 0
	for line := range strings.Lines(handbook(t)) {
		for _, found := range userNamed.FindAllStringSubmatch(line, -1) {
			if named++; !helperUser.MatchString(found[1]) {
				t.Errorf("the user %s is none whose rights the handbook gives: %s", found[1], line)
			}
		}
	}
	if named == 0 {
		t.Error("no command of the handbook names its user")
	}
}

// TestADumpThatLacksTablesIsRefused makes a service's user dump the tables that it may read. The client reports success
// or stops half-way. The handbook's comparison must fail, whichever of the commands run as that user.
func TestADumpThatLacksTablesIsRefused(t *testing.T) {
	p := demolab.Start(t)
	haveUsers(t, p)
	backup := filepath.Join(t.TempDir(), "backup")
	environment := variables(t, p, backup)
	commands := block(t, backUpDatabase)
	for _, user := range append(databaseUsers(t), aPart(t, p)) {
		must(t, os.RemoveAll(backup))
		must(t, os.Mkdir(backup, 0o700))
		dumpAlone := strings.Replace(commands, "--user=backup", "--user="+user, 1)
		err := try(t, block(t, counting)+dumpAlone, environment, "")
		t.Logf("%d tables in the dump of %s, refused: %v", tablesOf(t, backup), user, err != nil)
		if helperUser.MatchString(user) {
			must(t, err)
			continue
		}
		if err == nil {
			t.Errorf("a dump of the user %s passes", user)
		}
		everything := strings.ReplaceAll(block(t, counting)+commands, "--user=backup", "--user="+user)
		if err := try(t, everything, environment, ""); err == nil || !strings.Contains(err.Error(), "does not see every table") {
			t.Errorf("dump and comparison of the user %s say %v", user, err)
		}
	}
}

// aPart creates a user who may read only one table, with its triggers, and returns the user's name. A dump by this user
// ends without an error although it lacks the other tables.
func aPart(t *testing.T, p demolab.Platform) string {
	t.Helper()
	db, err := sql.Open("mysql", p.Endpoints.MySQLDSN)
	must(t, err)
	defer db.Close()
	for _, statement := range []string{
		"CREATE USER part IDENTIFIED BY '" + userPassword + "'",
		"GRANT SELECT, SHOW VIEW, TRIGGER ON lab.labs TO part",
		"GRANT EVENT ON lab.* TO part",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	return "part"
}

func tablesOf(t *testing.T, backup string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(backup, "mysql.sql"))
	must(t, err)
	return strings.Count(string(text), "\nCREATE TABLE `")
}

// TestADumpThatLacksRowsOrItsEndIsRefused cuts the dump off, as a full disk does, or removes rows, as a filter does.
// Both must be refused.
func TestADumpThatLacksRowsOrItsEndIsRefused(t *testing.T) {
	p := demolab.Start(t)
	haveUsers(t, p)
	environment := variables(t, p, t.TempDir())
	for what, change := range map[string][2]string{
		"cut off":     {`> "$BACKUP/mysql.sql"`, `| head -c 20000 > "$BACKUP/mysql.sql" || true`},
		"without end": {`> "$BACKUP/mysql.sql"`, `| sed '$d' > "$BACKUP/mysql.sql"`},
		"filtered":    {"--quick", "--quick --where='1=0'"},
		"one table":   {"--quick", `--quick --ignore-table="$DB_DATABASE.CriticalCallout"`},
	} {
		commands := block(t, backUpDatabase)
		changed := strings.Replace(commands, change[0], change[1], 1)
		if changed == commands {
			t.Fatalf("%s: the commands have no %s", what, change[0])
		}
		err := try(t, block(t, counting)+changed, environment, "")
		if err == nil {
			t.Errorf("a dump that is %s passes", what)
		}
		t.Logf("%s: %v", what, lastLine(err))
	}
}

// TestTheQueueRewritesItsFilesAfterABackupThatFailed checks that Redis rewrites its append-only file again. Otherwise
// it would fill the disk.
func TestTheQueueRewritesItsFilesAfterABackupThatFailed(t *testing.T) {
	p := demolab.Start(t)
	haveUsers(t, p)
	_, ofTheQueue, found := strings.Cut(block(t, backUpOthers), "\nqueue()")
	if !found {
		t.Fatal("the handbook's commands have no copy of the queue")
	}
	environment := append(variables(t, p, t.TempDir()), "REDIS_DATA="+filepath.Join(t.TempDir(), "missing"))
	if err := try(t, strict+"queue()"+ofTheQueue, environment, ""); err == nil {
		t.Error("a copy of a folder that is missing passes")
	}
	client := redis.NewClient(&redis.Options{Addr: p.Endpoints.RedisAddr})
	defer client.Close()
	got, err := client.ConfigGet(t.Context(), "auto-aof-rewrite-percentage").Result()
	must(t, err)
	if got["auto-aof-rewrite-percentage"] != "100" {
		t.Errorf("the queue's Redis has %v, want 100", got)
	}
}

// mayNot expects that a user of the handbook is refused each command, with these words.
func mayNot(t *testing.T, environment []string, tools string, refused map[string]string) {
	t.Helper()
	for command, words := range refused {
		if err := try(t, command, environment, tools); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s gave %v, want it refused: %s", command, err, words)
		}
	}
}

func lastLine(err error) string {
	if err == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return lines[len(lines)-1]
}

// ofTheCore creates what the core may have in addition to plain tables: a view, a trigger, a procedure, a function and
// an event with the core's user as definer, and a table with a generated column. It sets
// log_bin_trust_function_creators, as the handbook says for error 1419.
func ofTheCore(t *testing.T, db *sql.DB) {
	t.Helper()
	const by = "CREATE DEFINER = 'core'@'%' "
	for _, statement := range []string{
		"SET GLOBAL log_bin_trust_function_creators = 1",
		"CREATE USER 'core'@'%' IDENTIFIED BY '" + userPassword + "'",
		"GRANT ALL PRIVILEGES ON lab.* TO 'core'@'%'",
		by + "VIEW core_view AS SELECT id FROM labs",
		by + "TRIGGER core_trigger BEFORE INSERT ON department FOR EACH ROW SET NEW.id = NEW.id",
		by + "PROCEDURE core_procedure() SELECT 1",
		by + "FUNCTION core_function() RETURNS INT DETERMINISTIC RETURN 1",
		by + "EVENT core_event ON SCHEDULE EVERY 1 YEAR DO SELECT 1",
		"CREATE TABLE core_texts (id INT PRIMARY KEY, t TEXT, b BLOB, parts INT AS (id + 1) STORED)",
		`INSERT INTO core_texts (id, t, b) VALUES (1, 'it''s (1),(2)', x'0a28'), (2, "\n(3),(4);\nINSERT INTO \\\\", NULL), (3, '\'', '')`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

// wantOfTheCore fails if an object of ofTheCore is missing.
func wantOfTheCore(t *testing.T, db *sql.DB) {
	t.Helper()
	for what, query := range map[string]string{
		"view":      "VIEWS WHERE TABLE_SCHEMA = 'lab' AND TABLE_NAME = 'core_view'",
		"trigger":   "TRIGGERS WHERE TRIGGER_SCHEMA = 'lab' AND TRIGGER_NAME = 'core_trigger'",
		"procedure": "ROUTINES WHERE ROUTINE_SCHEMA = 'lab' AND ROUTINE_NAME = 'core_procedure'",
		"function":  "ROUTINES WHERE ROUTINE_SCHEMA = 'lab' AND ROUTINE_NAME = 'core_function'",
		"event":     "EVENTS WHERE EVENT_SCHEMA = 'lab' AND EVENT_NAME = 'core_event'",
	} {
		n := 0
		must(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema."+query).Scan(&n))
		if n != 1 {
			t.Error(fmt.Errorf("%d of the core's %s, want 1", n, what))
		}
	}
}
