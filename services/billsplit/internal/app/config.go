// Package app assembles the bill split process: its settings, servers and loops.
package app

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/labplatform/labplatform/pkg/service"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/grpcapi"
	"github.com/labplatform/labplatform/services/billsplit/internal/store/mysql"
)

// Config holds every setting of the service.
type Config struct {
	service.Config
	service.Stores

	// VATPercent is "carry", both bills show the original's rate, or "derive", each rate is computed from the bill's
	// amounts.
	VATPercent string `env:"VAT_PERCENT" envDefault:"carry"`
	// Access is "session", lab users and support may split bills, or "support", support only.
	Access string `env:"ACCESS" envDefault:"session"`
	// LabSwitch is "ignore" or "require". With "require", bills of a laboratory whose enable_bill_split is 0 cannot be
	// split.
	LabSwitch string `env:"LAB_SWITCH" envDefault:"ignore"`
	// GuardColumns names the column with the bill's id for guarded tables where it is not bill_id: crm_kit:billId,…
	GuardColumns map[string]string `env:"GUARD_COLUMNS"`
	// CDCAddr is the address of change capture. Without it, the service does not refresh the search index itself.
	CDCAddr string `env:"CDC_ADDR"`
}

// switchRequired is the value of LAB_SWITCH with which the laboratory's own switch counts.
const switchRequired = "require"

// Validate rejects unknown values, unknown guarded tables and unsafe column names.
func (c *Config) Validate() error {
	problems := []error{
		oneOf("VAT_PERCENT", c.VATPercent, string(bill.Carry), string(bill.Derive)),
		oneOf("ACCESS", c.Access, string(grpcapi.AnySession), string(grpcapi.SupportOnly)),
		oneOf("LAB_SWITCH", c.LabSwitch, "ignore", switchRequired),
	}
	for table, column := range c.GuardColumns {
		if !slices.ContainsFunc(bill.Guards(), func(g bill.Guard) bool { return g.Table == table }) {
			problems = append(problems, fmt.Errorf("GUARD_COLUMNS names %q, which is no guarded table", table))
		}
		if !columnName.MatchString(column) {
			problems = append(problems, fmt.Errorf("GUARD_COLUMNS gives %s the column %q: name one like bill_id", table, column))
		}
	}
	return errors.Join(problems...)
}

// columnName matches column names that are safe to insert into a statement.
var columnName = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s is %q: use %s", name, value, strings.Join(allowed, " or "))
}

func (c *Config) guards() mysql.Guards { return c.GuardColumns }
