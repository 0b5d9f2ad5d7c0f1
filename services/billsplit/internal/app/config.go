// Package app owns the bill split process: its settings and the list of what runs in it.
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

	// VATPercent is carry, the original's rate on both bills, or derive, computed from each bill's amounts.
	VATPercent string `env:"VAT_PERCENT" envDefault:"carry"`
	// Access is session, lab users and support of the laboratory, or support, support log-ins alone.
	Access string `env:"ACCESS" envDefault:"session"`
	// LabSwitch is ignore, or require: then a laboratory whose enable_bill_split is 0 splits nothing.
	LabSwitch string `env:"LAB_SWITCH" envDefault:"ignore"`
	// GuardColumns name the bill's column of guarded tables where it is not bill_id: crm_kit:billId,….
	GuardColumns map[string]string `env:"GUARD_COLUMNS"`
	// CDCAddr may be empty: then the search index is refreshed by change capture alone.
	CDCAddr string `env:"CDC_ADDR"`
}

// switchRequired is the value of LAB_SWITCH that asks the laboratory.
const switchRequired = "require"

// Validate refuses values that mean nothing.
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
