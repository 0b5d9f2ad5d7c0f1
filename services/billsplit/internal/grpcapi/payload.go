package grpcapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// Errors of the payload checks, in the documented order. They are returned as 400 before anything is read from the
// database.
var (
	errNoTests  = apperr.InvalidField("test_ids", "test_ids must be a non-empty list")
	errRepeated = apperr.InvalidField("test_ids", "test_ids must not repeat an entry")
	errSource   = apperr.InvalidField("new_source", "new_source must be Org Pay or Self Pay")
)

// testsOf parses test_ids: a non-empty list of unique integers. "5", 5.0 and true are rejected.
func testsOf(raw []byte) ([]int64, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil || len(entries) == 0 {
		return nil, errNoTests
	}
	seen := make(map[string]bool, len(entries))
	for _, entry := range entries {
		if seen[string(entry)] {
			return nil, errRepeated
		}
		seen[string(entry)] = true
	}
	tests := make([]int64, len(entries))
	for i, entry := range entries {
		n, err := strconv.ParseInt(string(bytes.TrimSpace(entry)), 10, 64)
		if err != nil {
			return nil, apperr.InvalidField("test_ids", fmt.Sprintf("test_ids must hold integers only; entry %d is none", i+1))
		}
		tests[i] = n
	}
	return tests, nil
}

// sourceOf parses new_source. null and a missing field mean Org Pay.
func sourceOf(text *string) (bill.Destination, error) {
	if text == nil {
		return bill.OrgPay, nil
	}
	switch d := bill.Destination(*text); d {
	case bill.OrgPay, bill.SelfPay:
		return d, nil
	}
	return "", errSource
}
