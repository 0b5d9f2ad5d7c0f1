package memory_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/notifications/internal/store/memory"
	"github.com/labplatform/labplatform/services/notifications/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store { return memory.New() })
}
