package app_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/cli"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
	"github.com/labplatform/labplatform/services/callout/internal/app"
)

// TestEraseNamesRemovesOnePatientsName erases the name of one patient of laboratory 12 from two callouts. It checks
// that those of another patient and of another laboratory stay.
func TestEraseNamesRemovesOnePatientsName(t *testing.T) {
	t.Parallel()
	db, dsn := mysqltest.Open(t)
	parsed, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(parsed.Addr)
	environ := []string{
		"CALLOUT_SERVICE_TOKEN_SECRET=a-service-token-secret-of-32-bytes", "CALLOUT_DB_HOST=" + host, "CALLOUT_DB_PORT=" + port,
		"CALLOUT_DB_USER=" + parsed.User, "CALLOUT_DB_PASSWORD=" + parsed.Passwd, "CALLOUT_DB_DATABASE=" + parsed.DBName,
	}
	cfg, err := app.Service.Load(environ)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		legacydb.Create(t.Context(), db), app.Service.Migrate(t.Context(), cfg, slog.New(slog.DiscardHandler)),
	); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO CriticalCallout (lab_id, bill_id, lab_report_id, user_details_id, recipients,
		critical_values_meta, critical_callout_meta, created_on, names) VALUES
		(12, 400, 7001, 500, '[]', '{}', '{}', NOW(6), '{"patient": "Meena Joshi", "org": "Sanjeevani"}'),
		(12, 400, 7002, 500, '[]', '{}', '{}', NOW(6), '{"patient": "Meena Joshi"}'),
		(12, 401, 7003, 501, '[]', '{}', '{}', NOW(6), '{"patient": "Ravi Rao"}'),
		(13, 500, 8001, 500, '[]', '{}', '{}', NOW(6), '{"patient": "Sita Nair"}')`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run changes nothing and succeeds
		if code, text := runVerb(environ, "erase-names", "-lab", "12", "-patient", "500"); code != 0 {
			t.Fatalf("exit code %d: %s, want 0", code, text)
		}
	}
	var names string
	err = db.QueryRowContext(t.Context(), `SELECT GROUP_CONCAT(CONCAT_WS('/', lab_report_id, JSON_UNQUOTE(JSON_EXTRACT(names, '$.patient')),
		JSON_UNQUOTE(JSON_EXTRACT(names, '$.org'))) ORDER BY id SEPARATOR ', ') FROM CriticalCallout`).Scan(&names)
	if want := "7001//Sanjeevani, 7002/, 7003/Ravi Rao, 8001/Sita Nair"; err != nil || names != want {
		t.Errorf("names are %q, %v, want %q", names, err, want)
	}
}

func TestEraseNamesShowsItsUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"erase-names", "--help"}, 0, "-patient"},
		{[]string{"erase-names"}, 2, "usage: erase-names -lab N -patient N"},
		{[]string{"erase-names", "-lab", "12"}, 2, "usage: erase-names -lab N -patient N"},
		{[]string{"erase-names", "-lab", "12", "-patient", "500"}, 1, "SERVICE_TOKEN_SECRET"},
	} {
		if code, text := runVerb(nil, c.args...); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%v: exit code %d and %q, want %d and %q", c.args, code, text, c.code, c.want)
		}
	}
}

// runVerb runs an operator command as the program does. It returns the exit code and all output.
func runVerb(environ []string, args ...string) (int, string) {
	var out bytes.Buffer
	program := cli.Program{Name: "callout", Verbs: app.Verbs(environ, &out)}
	code := program.Main(args, &out, &out)
	return code, out.String()
}
