package mysqldb

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// Server is the product and version of a database server.
type Server struct {
	MariaDB      bool // false: MySQL
	Major, Minor int
}

// The oldest supported servers. Earlier ones lack SKIP LOCKED, CHECK or window functions.
var (
	oldestMySQL   = Server{Major: 8, Minor: 0}
	oldestMariaDB = Server{MariaDB: true, Major: 10, Minor: 6}
)

// String returns the server for users, such as "MariaDB 10.11".
func (s Server) String() string {
	name := "MySQL"
	if s.MariaDB {
		name = "MariaDB"
	}
	return fmt.Sprintf("%s %d.%d", name, s.Major, s.Minor)
}

func (s Server) olderThan(other Server) bool {
	return s.Major < other.Major || (s.Major == other.Major && s.Minor < other.Minor)
}

// DetectServer returns the connected server, and an error if it is older than supported.
func DetectServer(ctx context.Context, db *sql.DB) (Server, error) {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return Server{}, Wrap("read the server's version", err)
	}
	server, err := parseVersion(version)
	if err != nil {
		return Server{}, err
	}
	oldest := oldestMySQL
	if server.MariaDB {
		oldest = oldestMariaDB
	}
	if server.olderThan(oldest) {
		return server, fmt.Errorf("the database is %v: upgrade it to %v or later", server, oldest)
	}
	return server, nil
}

// parseVersion parses versions such as "10.11.19-MariaDB-0+deb12u1" and "9.7.4". MariaDB prefixes its version with
// "5.5.5-" for old drivers.
func parseVersion(version string) (Server, error) {
	s := Server{MariaDB: strings.Contains(version, "MariaDB")}
	parts := strings.SplitN(strings.TrimPrefix(version, "5.5.5-"), ".", 3)
	var err error
	if len(parts) == 3 {
		if s.Major, err = strconv.Atoi(parts[0]); err == nil {
			s.Minor, err = strconv.Atoi(parts[1])
		}
	}
	if len(parts) != 3 || err != nil {
		return Server{}, fmt.Errorf("the database's version %q is not one of MySQL or MariaDB", version)
	}
	return s, nil
}
