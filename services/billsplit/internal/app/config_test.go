package app_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/services/billsplit/internal/app"
)

// TestThePrintedSettingsAreTheDocumentedOnes fails when a variable or a default changes: change README.md and the
// golden file with it.
func TestThePrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Load([]string{"BILL_SPLIT_SERVICE_TOKEN_SECRET=" + secret})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := config.Print(&got, app.Prefix, &cfg); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/print-config.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Fatal(diff)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Load([]string{"BILL_SPLIT_VAT_PERCENT=18", "BILL_SPLIT_ACCESS=all", "BILL_SPLIT_LAB_SWITCH=on", "BILL_SPLIT_GUARD_COLUMNS=crm_kit:bill id,finance_insurance_claim:x'--,billing:id"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"VAT_PERCENT", "ACCESS", "LAB_SWITCH", `"bill id"`, `"x'--"`, `"billing", which is no guarded table`} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	if cfg, err := app.Load([]string{"BILL_SPLIT_SERVICE_TOKEN_SECRET=" + secret, "BILL_SPLIT_GUARD_COLUMNS=crm_kit:billId_id"}); err != nil || cfg.GuardColumns["crm_kit"] != "billId_id" {
		t.Errorf("%v %v", cfg.GuardColumns, err)
	}
}
