package mysql_test

import (
	"testing"

	"github.com/labplatform/labplatform/services/billsplit/internal/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.MySQL)
}
