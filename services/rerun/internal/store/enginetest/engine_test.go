package enginetest_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/rerun/internal/store/enginetest"
	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestTheStoresOnEnginesConform(t *testing.T) {
	t.Parallel()
	storetest.RunBackend(t, enginetest.Open)
}
