package mysqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Lock names work that only one process at a time does.
type Lock struct {
	Service string
	Purpose string // a short word, such as sweep
}

// String returns the lock's name without the database, for messages: lab.<service>.<purpose>.
func (l Lock) String() string { return "lab." + l.Service + "." + l.Purpose }

const longestLockName = 64 // limit of the server, in characters

// Name returns the lock's name on the server, whose locks are not specific to a database:
// lab.<service>.<purpose>@<database>. A hash replaces a database name that is too long, or has capital letters, because
// lock names are case-insensitive.
func (l Lock) Name(database string) string {
	name := l.String() + "@" + database
	if len(name) <= longestLockName && database == strings.ToLower(database) {
		return name
	}
	sum := sha256.Sum256([]byte(database))
	return l.String() + "@" + hex.EncodeToString(sum[:8])
}

func databaseOf(ctx context.Context, q Querier) (string, error) {
	var database string
	if err := q.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", fmt.Errorf("read the name of the database: %w", err)
	}
	return database, nil
}

// Querier is implemented by *sql.DB, *sql.Conn and *sql.Tx.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// PrintLeaders writes, for each lock, the connection that has it, how long that has been silent, and the statement that
// ends it.
func PrintLeaders(ctx context.Context, db *sql.DB, locks []Lock, out io.Writer) error {
	database, err := databaseOf(ctx, db)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LOCK\tCONNECTION\tHOST\tSILENT FOR\tTO END IT")
	for _, lock := range locks {
		name := lock.Name(database)
		line, err := leaderLine(ctx, db, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\n", name, line)
	}
	return table.Flush()
}

func leaderLine(ctx context.Context, db *sql.DB, name string) (string, error) {
	var id, silent int64
	var host string
	err := db.QueryRowContext(ctx, "SELECT ID, HOST, TIME FROM information_schema.PROCESSLIST"+
		" WHERE ID = IS_USED_LOCK(?)", name).Scan(&id, &host, &silent)
	if errors.Is(err, sql.ErrNoRows) {
		return "none\t\t\t", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the holder of %s: %w", name, err)
	}
	return fmt.Sprintf("%d\t%s\t%d s\tKILL %d", id, host, silent, id), nil
}
