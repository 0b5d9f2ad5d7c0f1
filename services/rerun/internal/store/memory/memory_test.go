package memory_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/rerun/internal/store/storetest"
)

func TestTheStoresInMemoryConform(t *testing.T) {
	t.Parallel()
	storetest.RunBackend(t, storetest.Memory)
}
