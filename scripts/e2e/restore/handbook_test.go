package restore

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

const root = "../../.."

func handbook(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	must(t, err)
	return string(text)
}

// Lines of the handbook that introduce the commands of a backup and a restore.
const (
	counting        = "How rows are counted, in the same shell as the commands that follow; `$BACKUP` is an empty folder:"
	backUpDatabase  = "Back up the database, while everything runs:"
	backUpOthers    = "Back up the document store, the objects where they are a folder, and the queue, while everything runs:"
	restoreDatabase = "Restore the database, while the services are stopped, and count what is back:"
	restoreOthers   = "Restore the document store and the objects, while the services are stopped, and compare them with the backup:"
	restoreQueue    = "Restore the queue, while its Redis is stopped:"
)

// block returns the commands of the handbook that follow the line title.
func block(t *testing.T, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(handbook(t), "\n"+title+"\n\n```sh\n")
	commands, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the handbook has no commands below %q", title)
	}
	return commands + "\n"
}

// userPassword is the password of every user of the handbook. It has no spaces, because haveUsers splits the handbook's
// ACL command at spaces.
const userPassword = "of-the-users"

// haveUsers creates the users of the handbook in the database and in the queue's Redis. The embedded document store has
// no users.
func haveUsers(t *testing.T, p demolab.Platform) {
	t.Helper()
	must(t, demolab.MakeUsers(t.Context(), p.Endpoints.MySQLDSN, filepath.Join(root, "docs/database-users.sql"), userPassword))
	line := regexp.MustCompile("`(ACL SETUSER backup .*?)`").FindStringSubmatch(handbook(t))
	if line == nil {
		t.Fatal("the handbook does not say what the user backup may do in Redis")
	}
	statement := strings.NewReplacer(`\|`, "|", ">PASSWORD", ">"+userPassword).Replace(line[1])
	client := redis.NewClient(&redis.Options{Addr: p.Endpoints.RedisAddr})
	defer client.Close()
	var words []any
	for word := range strings.FieldsSeq(statement) {
		words = append(words, word)
	}
	must(t, client.Do(t.Context(), words...).Err())
}

// variables returns the variables of the handbook's commands as KEY=value.
func variables(t *testing.T, p demolab.Platform, backup string) []string {
	t.Helper()
	dsn, err := mysql.ParseDSN(p.Endpoints.MySQLDSN)
	must(t, err)
	database, err := url.Parse("//" + dsn.Addr)
	must(t, err)
	cache, err := url.Parse("//" + p.Endpoints.RedisAddr)
	must(t, err)
	objects, err := url.Parse(p.Endpoints.BlobURL)
	must(t, err)
	return append(passwords(),
		"BACKUP="+backup, "OBJECTS="+objects.Path,
		"DB_HOST="+database.Hostname(), "DB_PORT="+database.Port(), "DB_DATABASE="+dsn.DBName,
		"MONGO_BACKUP="+p.Endpoints.MongoURI, "MONGO_RESTORE="+p.Endpoints.MongoURI, "MONGO_DATABASE="+p.Endpoints.MongoDatabase,
		"REDIS_HOST="+cache.Hostname(), "REDIS_PORT="+cache.Port(), "REDIS_DATA="+data(p, "redis"),
	)
}

func passwords() []string {
	return []string{"BACKUP_PASSWORD=" + userPassword, "RESTORE_PASSWORD=" + userPassword, "REDIS_PASSWORD=" + userPassword}
}

func data(p demolab.Platform, engine string) string { return filepath.Join(p.Dir, "data", engine) }

// follow runs commands of the handbook. Their failure fails the test.
func follow(t *testing.T, commands string, environment []string, tools string) {
	t.Helper()
	must(t, try(t, commands, environment, tools))
}

// strict is also the first line of the handbook's backup. Without it the shell would continue after a failed command.
const strict = "set -euo pipefail\n"

// try runs commands that may fail. It does not set strict itself.
func try(t *testing.T, commands string, environment []string, tools string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", commands)
	cmd.Env = append(append(os.Environ(), environment...), fmt.Sprintf("PATH=%s:%s:%s", tools, databaseTools(), os.Getenv("PATH")))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w of\n%s\nsays\n%s", err, commands, out)
	}
	return nil
}

// databaseTools returns the folder of the clients that belong to the database server, or "" if the machine's clients
// fit.
func databaseTools() string {
	if os.Getenv("LAB_DATABASE") != "mysql" {
		return ""
	}
	return filepath.Join(os.Getenv("LAB_DISTRIBUTIONS"), "mysql-sid", "bin")
}

// mongoTools returns a folder with mongodump and mongorestore. It builds them if the machine lacks them.
func mongoTools(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, tool := range []string{"mongodump", "mongorestore"} {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, "scripts/mongotools"), "build", "-o", filepath.Join(folder, tool),
			"github.com/mongodb/mongo-tools/"+tool+"/main")
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", tool, err, out)
		}
	}
	return folder
}
