package memory_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/cellcounter/internal/store/memory"
	"github.com/labplatform/labplatform/services/cellcounter/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store {
		s := memory.Seeded()
		return storetest.Store{Store: s, Observe: memory.Observe{Store: s}}
	})
}
