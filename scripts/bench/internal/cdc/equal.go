package cdc

import (
	"fmt"
	"reflect"

	"github.com/labplatform/labplatform/pkg/testkit/oracletest"
)

// equal compares the stored documents with the ones that follow from the tables. If whole is set, none may be missing.
// Errors name patients by id only.
func equal(where string, want, got oracletest.Documents, whole bool) error {
	found := 0
	for lab, patients := range got {
		for id, document := range patients {
			if !reflect.DeepEqual(want[lab][id], document) {
				return fmt.Errorf("%s: patient %d of laboratory %d differs from the tables", where, id, lab)
			}
			found++
		}
	}
	total := 0
	for _, patients := range want {
		total += len(patients)
	}
	if found == 0 || (whole && found != total) {
		return fmt.Errorf("%s: holds %d of %d patients", where, found, total)
	}
	return nil
}
