package oracletest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Stored reads the rows of living patients in user_meta as documents, for a comparison with Expected.
func Stored(ctx context.Context, db *sql.DB) (Documents, error) {
	rows, err := table(ctx, db, "SELECT * FROM user_meta WHERE rev > 0 AND is_deleted = 0")
	if err != nil {
		return nil, err
	}
	documents := Documents{}
	for _, r := range rows {
		source := map[string]any{}
		for name, cell := range r {
			if source[name], err = value(name, cell, r); err != nil {
				return nil, err
			}
		}
		lab, id := r.number("lab_id"), r.number("user_id")
		if documents[lab] == nil {
			documents[lab] = map[int64]Document{}
		}
		documents[lab][id] = Normal(source)
	}
	return documents, nil
}

// value converts a cell to the value in the index.
func value(name string, cell any, r row) (any, error) {
	switch {
	case cell == nil:
		return nil, nil
	case strings.HasSuffix(name, "_ids") || name == "order_numbers":
		var list []any
		if err := json.Unmarshal([]byte(r.text(name)), &list); err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		if name == "order_numbers" || name == "sample_ids" || name == "manual_sample_ids" {
			for i := range list {
				list[i] = strings.ToUpper(plain(list[i]))
			}
		}
		return list, nil
	case name == "is_deleted":
		return r.number(name) != 0, nil
	case name == "date_of_birth":
		return cell.(time.Time).Format("2006-01-02"), nil // a column of type DATE
	case name == "contact", name == "alternate_contact":
		return digits(r.text(name)), nil
	case slices.Contains([]string{"user_id", "lab_id", "branch_id", "org_id", "cc_id", "last_bill_time"}, name):
		return float64(r.number(name)), nil
	}
	return r.text(name), nil
}

// Derived reports whether a Document lacks the field, because change capture adds it, or because the encoder, which has
// its own tests, derives it from other fields.
func Derived(field string) bool {
	switch field {
	case "rev", "updated_at", "former_lab_ids", "source_ts_ms", userindex.Sounds, userindex.OldSounds, userindex.Joined,
		userindex.Misspelled, userindex.Identifiers, userindex.Whole, userindex.Segments, userindex.Phones,
		userindex.Compacted, userindex.Beginnings, userindex.VisibleIn, userindex.Shown:
		return true
	}
	return false
}

// Normal converts the source of an index document, decoded by encoding/json into a map, into a Document.
func Normal(source map[string]any) Document {
	d := Document{}
	for field, v := range source {
		if Derived(field) {
			continue
		}
		switch v := v.(type) {
		case nil:
		case string:
			d.text(field, v)
		case []any:
			list := make([]string, len(v))
			for i, entry := range v {
				list[i] = plain(entry)
			}
			slices.Sort(list)
			if len(list) > 0 {
				d[field] = slices.Compact(list)
			}
		default:
			d[field] = v
		}
	}
	return d
}

// plain formats numbers without an exponent.
func plain(entry any) string {
	if n, ok := entry.(float64); ok {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprint(entry)
}
