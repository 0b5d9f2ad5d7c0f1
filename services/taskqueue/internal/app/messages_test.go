package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/fcmtest"
)

// sqlBlock matches a block of SQL statements in a page.
var sqlBlock = regexp.MustCompile("(?s)\n```sql\n(.*?)\n```\n")

// secretFile matches a file of the providers' Secret.
var secretFile = regexp.MustCompile(`--from-file=(\w+)=`)

// TestTheRowsOfTheHandbookAreInForce checks that the provider rows in the handbook are valid with the secrets created
// by its commands.
func TestTheRowsOfTheHandbookAreInForce(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	db, _, env := database(t)
	secrets := t.TempDir()
	for _, name := range secretFile.FindAllStringSubmatch(string(page), -1) {
		content := "secret"
		if name[1] == "fcm_key" {
			content = fcmtest.Start(t).KeyFile().Reveal()
		}
		if err := os.WriteFile(filepath.Join(secrets, name[1]), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blocks := sqlBlock.FindAllStringSubmatch(string(page), -1)
	for _, block := range blocks {
		if _, err := db.ExecContext(t.Context(), block[1]); err != nil {
			t.Fatalf("%v of\n%s", err, block[1])
		}
	}
	var out strings.Builder
	env = append(env, "TASKQUEUE_OUTBOX_ENABLED=false", "TASKQUEUE_PROVIDER_SECRETS_DIR="+secrets)
	if err := verb(t, env, &out, "providers").Run(t.Context(), nil); err != nil {
		t.Errorf("the verb says %v", err)
	}
	for _, channel := range []string{"sms", "email", "push", "whatsapp"} {
		if !regexp.MustCompile(channel + ` .*in force`).MatchString(out.String()) {
			t.Errorf("no row of %s is in force:\n%s", channel, out.String())
		}
	}
}
