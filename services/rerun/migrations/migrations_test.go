package migrations_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/migrationtest"
	"github.com/labplatform/labplatform/services/rerun/migrations"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	migrationtest.Run(t, migrations.Schemas())
}
