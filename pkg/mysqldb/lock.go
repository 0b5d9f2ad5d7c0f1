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

// Lock names work that one process at a time does.
type Lock struct {
	Service string
	Purpose string // of a few letters
}

// String returns the name for people.
func (l Lock) String() string { return "lab." + l.Service + "." + l.Purpose }

const longestLockName = 64 // of the server

// Name returns the lock's name at the server, whose locks belong to no database: lab.<service>.<purpose>@<database>. A
// database whose name is too long, or has capital letters, which the server does not tell apart, has a hash instead.
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
		return "", fmt.Errorf("ask for the name of the database: %w", err)
	}
	return database, nil
}

// Querier is a *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// PrintLeaders tells which connection holds each lock, how long the server has heard nothing of it, and how to end it.
func PrintLeaders(ctx context.Context, db *sql.DB, locks []Lock, out io.Writer) error {
	database, err := databaseOf(ctx, db)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LOCK\tCONNECTION\tHOST\tSILENT FOR\tTO LET ANOTHER LEAD")
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
		return "no one at the moment\t\t\t", nil
	}
	if err != nil {
		return "", fmt.Errorf("ask who holds %s: %w", name, err)
	}
	return fmt.Sprintf("%d\t%s\t%d s\tKILL %d", id, host, silent, id), nil
}
