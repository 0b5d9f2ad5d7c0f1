package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/labplatform/labplatform/pkg/mysqldb"
)

// binlogSettings are the settings required for change capture, with the statements that set them.
var binlogSettings = []struct{ name, want, repair string }{
	{"log_bin", "1", "start the server with --log-bin=binlog"},
	{
		"binlog_format",
		"ROW",
		"run SET GLOBAL binlog_format='ROW' and put binlog_format=ROW into the server's configuration",
	},
	{
		"binlog_row_image",
		"FULL",
		"run SET GLOBAL binlog_row_image='FULL' and put binlog_row_image=FULL into the server's configuration",
	},
}

// CheckBinlog returns the kind of database server. It returns an error with all problems if the settings of the binary
// log do not allow change capture.
func (s *Store) CheckBinlog(ctx context.Context) (mysqldb.Server, error) {
	server, err := mysqldb.DetectServer(ctx, s.db)
	if err != nil {
		return server, err
	}
	var problems []error
	for _, setting := range binlogSettings {
		var have string
		if err := s.db.QueryRowContext(ctx, "SELECT @@GLOBAL."+setting.name).Scan(&have); err != nil {
			return server, mysqldb.Wrap("ask for "+setting.name, err)
		}
		if have != setting.want {
			problems = append(problems,
				fmt.Errorf("the database's %s is %s, change capture needs %s: %s", setting.name, have, setting.want, setting.repair))
		}
	}
	return server, errors.Join(problems...)
}
