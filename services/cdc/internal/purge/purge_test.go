package purge_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/clock"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/indexsync"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
	"github.com/labplatform/labplatform/services/cdc/internal/purge"
	"github.com/labplatform/labplatform/services/cdc/internal/store/elastic/enginetest"
)

type heard struct{ purged int }

func (h *heard) Purged(n int)          { h.purged += n }
func (*heard) Sent(int, time.Duration) {}
func (*heard) Resent(int, string)      {}

func TestOldStubsGoAndPatientsStay(t *testing.T) {
	t.Parallel()
	s := enginetest.Ensured(t)
	h := &heard{}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	old, young := now.Add(-9*24*time.Hour).UnixMicro(), now.Add(-time.Hour).UnixMicro()
	w := indexsync.NewWriter(indexsync.WriterDeps{Index: s, Observer: h, Clock: clock.System{}, Jitter: func() float64 { return 1 },
		Config: indexsync.WriterConfig{Operations: 1000, Bytes: 5 << 20, Concurrent: 1, FirstRetry: time.Millisecond, MaxRetry: time.Second, Patience: time.Second}})
	maker := document.NewMaker(document.RevVersions{})
	var ops []document.Op
	for _, row := range []projection.Row{
		{UserID: 1, LabID: 7, Rev: old, IsDeleted: true},
		{UserID: 2, LabID: 7, FormerLabIDs: []int64{1}, Rev: old},
		{UserID: 3, LabID: 7, FormerLabIDs: []int64{1}, Rev: young},
		{UserID: 4, LabID: 7, Rev: young, IsDeleted: true},
	} {
		ops = append(ops, maker.Write(&row)...)
	}
	if _, err := w.Write(t.Context(), s.Live(), ops); err != nil {
		t.Fatal(err)
	}
	p := &purge.Purger{Stubs: s, Writer: w, Clock: clock.Fixed(now), Observer: h, Config: purge.Config{After: 8 * 24 * time.Hour}}
	stubs := map[string]any{"term": map[string]any{"is_deleted": true}}
	if diff := cmp.Diff([]string{"1", "2", "3", "4"}, s.Found(stubs)); diff != "" {
		t.Fatal(diff)
	}
	back := maker.Own(&projection.Row{UserID: 1, LabID: 7, Rev: young, FullName: "Came back"})
	if _, err := w.Write(t.Context(), s.Live(), []document.Op{back}); err != nil { // the index may not be refreshed yet
		t.Fatal(err)
	}
	for range 2 {
		if err := p.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"3", "4"}, s.Found(stubs)); diff != "" {
		t.Errorf("stubs: %s", diff)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, s.Found(map[string]any{"term": map[string]any{"is_deleted": false}})); diff != "" {
		t.Errorf("patients: %s", diff)
	}
	if h.purged < 1 {
		t.Errorf("%d purged", h.purged)
	}
}

func TestAnAgeWithinTheTopicsMemoryIsRefused(t *testing.T) {
	t.Parallel()
	if c := (purge.Config{After: time.Minute}); c.Validate() == nil {
		t.Error("a minute is accepted")
	}
	if c := (purge.Config{After: 8 * 24 * time.Hour}); c.Validate() != nil {
		t.Error("eight days are refused")
	}
}
