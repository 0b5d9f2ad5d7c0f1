package inprocess

import (
	"context"
	"fmt"
	"slices"

	"github.com/labplatform/labplatform/pkg/config"
	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	elasticstore "github.com/labplatform/labplatform/services/cdc/internal/store/elastic"
)

// Row is a row of user_meta.
type Row = projection.Row

// bulk is the number of documents per request.
const bulk = 1000

// Fill writes rows like Write, then refreshes the index and merges its segments, as a rebuild does.
func Fill(ctx context.Context, client *elastic.Client, rows []Row) error {
	index, err := live(client)
	if err != nil {
		return err
	}
	if err := write(ctx, index, rows); err != nil {
		return err
	}
	return index.Compact(ctx, index.Live())
}

// Write writes the documents of rows into the live index. A Rev of 0 becomes 1. The caller closes client.
func Write(ctx context.Context, client *elastic.Client, rows []Row) error {
	index, err := live(client)
	if err != nil {
		return err
	}
	return write(ctx, index, rows)
}

func live(client *elastic.Client) (*elasticstore.Store, error) {
	var cfg elasticstore.Config
	if err := config.Load("CDC_INDEX_", &cfg, nil); err != nil {
		return nil, fmt.Errorf("default settings: %w", err)
	}
	return elasticstore.New(client, cfg), nil
}

func write(ctx context.Context, index *elasticstore.Store, rows []Row) error {
	maker := document.NewMaker(document.RevVersions{})
	for chunk := range slices.Chunk(rows, bulk) {
		var ops []document.Op
		for _, row := range chunk {
			row.Rev = max(row.Rev, 1)
			ops = append(ops, maker.Write(&row)...)
		}
		if err := send(ctx, index, ops); err != nil {
			return err
		}
	}
	return nil
}

func send(ctx context.Context, index *elasticstore.Store, ops []document.Op) error {
	fates, err := index.Bulk(ctx, index.Live(), ops)
	if err != nil {
		return fmt.Errorf("write documents: %w", err)
	}
	for n, fate := range fates {
		if fate.Verdict != indexsync.Written {
			return fmt.Errorf("write document of patient %d: %s", ops[n].ID, fate.Kind)
		}
	}
	return nil
}
