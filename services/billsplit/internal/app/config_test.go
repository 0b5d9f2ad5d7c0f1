package app_test

import (
	"strings"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/settingstest"
	"github.com/labplatform/labplatform/services/billsplit/internal/app"
)

// TestThePrintedSettingsAreTheDocumentedOnes fails if a variable or a default changed. Then update README.md and the
// golden file.
func TestThePrintedSettingsAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	cfg, err := app.Service.Load([]string{"BILL_SPLIT_SERVICE_TOKEN_SECRET=a-service-token-secret-of-32-bytes"})
	if err != nil {
		t.Fatal(err)
	}
	settingstest.Printed(t, "testdata/print-config.txt", app.Service.Prefix, &cfg)
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := app.Service.Load([]string{"BILL_SPLIT_VAT_PERCENT=18", "BILL_SPLIT_ACCESS=all", "BILL_SPLIT_LAB_SWITCH=on", "BILL_SPLIT_GUARD_COLUMNS=crm_kit:bill id,finance_insurance_claim:x'--,billing:id"})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"VAT_PERCENT", "ACCESS", "LAB_SWITCH", `"bill id"`, `"x'--"`, `"billing", which is no guarded table`} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	if cfg, err := app.Service.Load([]string{"BILL_SPLIT_SERVICE_TOKEN_SECRET=a-service-token-secret-of-32-bytes", "BILL_SPLIT_GUARD_COLUMNS=crm_kit:billId_id"}); err != nil || cfg.GuardColumns["crm_kit"] != "billId_id" {
		t.Errorf("%v %v", cfg.GuardColumns, err)
	}
}
