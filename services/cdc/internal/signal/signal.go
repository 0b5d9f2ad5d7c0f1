// Package signal owns what an operator tells the connectors through the signal table: to send rows that are there
// again. The rows come in chunks between the changes, so that nothing stops and nothing newer is overtaken.
package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/connectors"
	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

const (
	chunkRows  = 1024 // incremental.snapshot.chunk.size
	lookPause  = 500 * time.Millisecond
	takenUp    = 30 * time.Second // by then a connector that runs has begun
	quietLooks = 4                // looks without a sign of a snapshot that are its end; offsets are flushed every second
)

// Table is the signal table.
type Table interface {
	Signal(ctx context.Context, id, kind, data string) error
	DeleteSignal(ctx context.Context, id string) error
	// ClosedWindows returns how many chunks were read since the given time.
	ClosedWindows(ctx context.Context, since time.Time) (int, error)
}

// Runtime tells how far a connector has read.
type Runtime interface {
	Offsets(ctx context.Context, name string) (json.RawMessage, error)
}

// Signaller asks for incremental snapshots.
type Signaller struct {
	Table    Table
	Runtime  Runtime
	Database string
	Clock    clock.Clock
	Out      io.Writer
}

// request is the documented content of the column data.
type request struct {
	Collections []string    `json:"data-collections"`
	Type        string      `json:"type"`
	Conditions  []condition `json:"additional-conditions,omitempty"`
}

type condition struct {
	Collection string `json:"data-collection"`
	Filter     string `json:"filter"`
}

// Snapshot asks for the rows of the tables again, those that filter (a SQL condition) selects when it is not empty, and
// waits until they were sent.
func (s *Signaller) Snapshot(ctx context.Context, tables []string, filter string) error {
	owner, err := Owner(tables)
	if err != nil {
		return err
	}
	r := request{Type: "incremental"}
	for _, table := range tables {
		name := s.Database + "." + table
		r.Collections = append(r.Collections, name)
		if filter != "" {
			r.Conditions = append(r.Conditions, condition{name, filter})
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("signal: %w", err)
	}
	begin := s.Clock.Now().Truncate(time.Second)
	id := "snapshot-" + begin.UTC().Format("20060102T150405") + "-" + owner
	if err := s.Table.Signal(ctx, id, "execute-snapshot", string(data)); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "signal %s: %s sends %s again\n", id, owner, strings.Join(tables, ", "))
	if err := s.watch(ctx, owner, begin); err != nil {
		return err
	}
	return s.Table.DeleteSignal(ctx, id)
}

// Owner returns the connector that captures all the tables.
func Owner(tables []string) (string, error) {
	if len(tables) == 0 {
		return "", errors.New("name at least one table")
	}
	captured := map[string]string{change.UserDetails: connectors.Existing, change.Billing: connectors.Existing,
		change.LabReportRelation: connectors.Existing, change.UserMeta: connectors.Projection}
	owner := captured[tables[0]]
	for _, table := range tables {
		switch {
		case captured[table] == "":
			return "", fmt.Errorf("table %q is not captured: name userDetails, billing, labReportRelation or user_meta", table)
		case captured[table] != owner:
			return "", errors.New("user_meta has another connector than the other tables: send two signals")
		}
	}
	return owner, nil
}

// watch tells the progress until the snapshot is over.
func (s *Signaller) watch(ctx context.Context, owner string, begin time.Time) error {
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	chunks, quiet, started := 0, 0, false
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("not watched to its end, it goes on by itself: %w", ctx.Err())
		case <-tick.C:
		}
		now, running, err := s.look(ctx, owner, begin)
		if err != nil {
			return err
		}
		if now > chunks {
			fmt.Fprintf(s.Out, "about %d rows sent\n", now*chunkRows)
		}
		quiet++
		if running || now > chunks {
			started, quiet = true, 0
		}
		chunks = now
		switch {
		case started && quiet >= quietLooks:
			fmt.Fprintln(s.Out, "all rows are sent")
			return nil
		case !started && s.Clock.Now().Sub(begin) > takenUp:
			return fmt.Errorf(
				"%s has not begun within %v: see cdc connectors status, and whether the filter is right; where no row is selected there is nothing to send",
				owner,
				takenUp,
			)
		}
	}
}

// look returns the chunks so far and whether the connector's offsets speak of a snapshot.
func (s *Signaller) look(ctx context.Context, owner string, begin time.Time) (chunks int, running bool, err error) {
	if chunks, err = s.Table.ClosedWindows(ctx, begin); err != nil {
		return 0, false, err
	}
	offsets, err := s.Runtime.Offsets(ctx, owner)
	if err != nil {
		return 0, false, err
	}
	return chunks, bytes.Contains(offsets, []byte(`"incremental_snapshot_`)), nil
}

// Tables lists the tables that can be asked for.
func Tables() []string {
	return slices.Clone([]string{change.UserDetails, change.Billing, change.LabReportRelation, change.UserMeta})
}
