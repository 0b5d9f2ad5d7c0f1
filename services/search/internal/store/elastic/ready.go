package elastic

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Metadata written by the pipeline into indexes that this version can search.
const (
	versionDomain = "user_meta.rev"
	schema        = userindex.Schema
	oldSchema     = userindex.OldSchema
)

// probePatience is the timeout per node. It leaves time for another node within a probe.
const probePatience = 500 * time.Millisecond

// foundIndex is the engine's description of an index.
type foundIndex struct {
	Aliases  map[string]struct{} `json:"aliases"`
	Mappings struct {
		Meta struct {
			Domain string `json:"version_domain"`
			Schema int    `json:"schema"`
		} `json:"_meta"`
	} `json:"mappings"`
}

// Ready checks that the index exists, that this version can search it, and that it has the alias for its schema. The
// node responds from its local state, so that the check succeeds while the cluster elects a master. The error includes
// advice.
func (s *Store) Ready(ctx context.Context) error {
	var indexes map[string]foundIndex
	err := s.client.Do(
		ctx,
		elastic.Call{
			Name: "indices.get",
			Request: esapi.IndicesGetRequest{
				Index: []string{s.cfg.Alias}, Local: new(true), Features: "aliases,mappings",
				FilterPath: []string{"*.aliases", "*.mappings._meta"},
			},
			Repeat: true, AttemptTimeout: probePatience,
		},
		&indexes,
	)
	s.breaker.probed(err)
	switch {
	case elastic.IsStatus(err, http.StatusNotFound), err == nil && len(indexes) == 0:
		return s.noIndex()
	case err != nil:
		return fmt.Errorf("look at the index: %w", err)
	}
	for name, index := range indexes {
		if err := s.fits(name, &index); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) fits(name string, index *foundIndex) error {
	meta := index.Mappings.Meta
	if meta.Domain != versionDomain || meta.Schema < oldSchema || meta.Schema > schema {
		return fmt.Errorf(
			"the index %s is of %q schema %d, searches need %q schema %d to %d: make a new one with `cdc rebuild`", name,
			meta.Domain, meta.Schema, versionDomain, oldSchema, schema)
	}
	reader := userindex.Reader(s.cfg.Alias, meta.Schema)
	if _, searched := index.Aliases[reader]; !searched {
		return fmt.Errorf(
			"the index %s lacks the alias %s, by which it is searched: cdc gives it back while it runs; look whether it does",
			name, reader)
	}
	return nil
}
