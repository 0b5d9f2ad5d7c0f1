package restore

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/scripts/e2e/demolab"
)

const root = "../../.."

// block returns the commands of the handbook that stand below the line that says what they do.
func block(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+title+"\n\n```sh\n")
	commands, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the handbook has no commands below %q", title)
	}
	return commands
}

// variables are the variables of the handbook's commands.
func variables(t *testing.T, p demolab.Platform, backup string) []string {
	t.Helper()
	dsn, err := mysql.ParseDSN(p.Endpoints.MySQLDSN)
	if err != nil {
		t.Fatal(err)
	}
	database, err := url.Parse("//" + dsn.Addr)
	if err != nil {
		t.Fatal(err)
	}
	redis, err := url.Parse("//" + p.Endpoints.RedisAddr)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"BACKUP=" + backup,
		"DB_HOST=" + database.Hostname(), "DB_PORT=" + database.Port(), "DB_USER=" + dsn.User, "MYSQL_PWD=" + dsn.Passwd,
		"DB_DATABASE=" + dsn.DBName,
		"MONGO_URI=" + p.Endpoints.MongoURI, "MONGO_DATABASE=" + p.Endpoints.MongoDatabase,
		"REDIS_HOST=" + redis.Hostname(), "REDIS_PORT=" + redis.Port(), "REDIS_DATA=" + data(p, "redis"),
	}
}

func data(p demolab.Platform, engine string) string { return filepath.Join(p.Dir, "data", engine) }

// follow runs commands of the handbook.
func follow(t *testing.T, commands string, environment []string, tools string) {
	t.Helper()
	must(t, try(t, commands, environment, tools))
}

// try is follow for what may fail.
func try(t *testing.T, commands string, environment []string, tools string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Env = append(append(os.Environ(), environment...), fmt.Sprintf("PATH=%s:%s:%s", tools, databaseTools(), os.Getenv("PATH")))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w of\n%s\nsays\n%s", err, commands, out)
	}
	return nil
}

// databaseTools returns the folder of the database's own clients, where the machine's are those of another server.
func databaseTools() string {
	if os.Getenv("LAB_DATABASE") != "mysql" {
		return ""
	}
	return filepath.Join(os.Getenv("LAB_DISTRIBUTIONS"), "mysql-sid", "bin")
}

// mongoTools returns a folder with mongodump and mongorestore, built when the machine has none.
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
