package reconcile

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/services/cdc/internal/document"
	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

const pageSize = 500

// Count holds the numbers of rows and documents in one comparison.
type Count struct {
	Patients  int64 // rows of the laboratory in user_meta
	Documents int64 // documents in the index that name the laboratory, including stubs
}

// Suspects compares a laboratory once and returns all possible differences, by patient. Changes still in the pipeline
// look like differences too. progress is called after every page. The error is a fault.
func (r *Reconciler) Suspects(
	ctx context.Context, scope authn.LabScope, progress func(Count),
) (map[int64][]Difference, Count, error) {
	p := &pass{r: r, scope: scope, suspects: map[int64][]Difference{}, progress: progress}
	var err error
	if p.judge, err = r.judge(ctx); err != nil {
		return p.suspects, p.count, err
	}
	err = p.documents(ctx)
	if err == nil {
		err = p.registered(ctx)
	}
	return p.suspects, p.count, err
}

// pass is one comparison of a laboratory.
type pass struct {
	r        *Reconciler
	judge    judge
	scope    authn.LabScope
	suspects map[int64][]Difference
	count    Count
	seen     []int64 // patients with a row, in ascending order
	progress func(Count)
}

// documents merges the laboratory's rows with its documents, both ordered by patient id, and compares the rows with
// their sources.
func (p *pass) documents(ctx context.Context) error {
	if err := p.r.d.Documents.Refresh(ctx, p.r.d.Target); err != nil {
		return err
	}
	next, stop := iter.Pull2(p.r.d.Documents.Scan(ctx, p.r.d.Target, p.scope.LabID()))
	defer stop()
	scan := &scan{next: next}
	scan.advance()
	for after := int64(math.MinInt64); ; {
		rows, err := p.r.d.Rows.Rows(ctx, p.scope, after, pageSize)
		if err != nil {
			return err
		}
		for i := range rows {
			after = rows[i].UserID
			p.orphans(scan.before(after))
			suspect(p.suspects, p.judge.compare(p.scope.LabID(), after, &rows[i], scan.of(after)))
			p.seen = append(p.seen, after)
		}
		if err := p.r.differing(ctx, p.scope.LabID(), p.seen[len(p.seen)-len(rows):], p.suspects); err != nil {
			return err
		}
		p.count.Patients, p.count.Documents = int64(len(p.seen)), scan.taken
		p.progress(p.count)
		if len(rows) < pageSize {
			break
		}
	}
	p.orphans(scan.rest())
	p.count.Documents = scan.taken
	return scan.err
}

// orphans compares documents of patients without a row in the laboratory.
func (p *pass) orphans(entries iter.Seq[document.Entry]) {
	for e := range entries {
		suspect(p.suspects, p.judge.compare(p.scope.LabID(), e.UserID, nil, []document.Entry{e}))
	}
}

// registered compares patients in the sources that user_meta lacks or has in another laboratory.
func (p *pass) registered(ctx context.Context) error {
	for after := int64(math.MinInt64); ; {
		ids, err := p.r.d.Rows.SourceUserIDs(ctx, p.scope, after, pageSize)
		if err != nil {
			return err
		}
		more := len(ids) == pageSize
		if more {
			after = ids[len(ids)-1]
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool {
			_, seen := slices.BinarySearch(p.seen, id)
			return seen
		})
		if err := p.r.differing(ctx, p.scope.LabID(), ids, p.suspects); err != nil || !more {
			return err
		}
	}
}

// scan iterates over documents with one document of lookahead.
type scan struct {
	next  func() (document.Entry, error, bool)
	entry document.Entry
	more  bool
	taken int64
	err   error
}

func (s *scan) advance() {
	s.entry, s.err, s.more = s.next()
	s.more = s.more && s.err == nil
}

// take yields entries as long as fits accepts their patients.
func (s *scan) take(fits func(user int64) bool) iter.Seq[document.Entry] {
	return func(yield func(document.Entry) bool) {
		for s.more && fits(s.entry.UserID) {
			e := s.entry
			s.taken++
			s.advance()
			if !yield(e) {
				return
			}
		}
	}
}

func (s *scan) before(user int64) iter.Seq[document.Entry] {
	return s.take(func(id int64) bool { return id < user })
}

func (s *scan) of(user int64) []document.Entry {
	return slices.Collect(s.take(func(id int64) bool { return id == user }))
}

func (s *scan) rest() iter.Seq[document.Entry] { return s.take(func(int64) bool { return true }) }

func suspect(suspects map[int64][]Difference, found []Difference) {
	for _, d := range found {
		suspects[d.UserID] = append(suspects[d.UserID], d)
	}
}

func (r *Reconciler) differing(ctx context.Context, lab int64, ids []int64, suspects map[int64][]Difference) error {
	if len(ids) == 0 {
		return nil
	}
	different, err := r.d.Rows.Differences(ctx, ids)
	for _, id := range different {
		d := Difference{Kind: Projection, LabID: lab, UserID: id}
		if !slices.Contains(suspects[id], d) {
			suspects[id] = append(suspects[id], d)
		}
	}
	return err
}

// again reads the suspects once more by key. From the first comparison it uses only the routes.
func (r *Reconciler) again(
	ctx context.Context, lab int64, suspects map[int64][]Difference,
) (map[int64][]Difference, error) {
	ids := make([]int64, 0, len(suspects))
	for id := range suspects {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	judge, err := r.judge(ctx)
	if err != nil {
		return nil, err
	}
	found := map[int64][]Difference{}
	for page := range slices.Chunk(ids, pageSize) {
		if err := r.lookAt(ctx, judge, lab, page, suspects, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (r *Reconciler) lookAt(
	ctx context.Context, judge judge, lab int64, ids []int64, suspects, found map[int64][]Difference,
) error {
	// Rows are read before documents: a change in between then makes the document newer, never the row.
	stored, err := r.d.Rows.RowsByID(ctx, ids)
	if err != nil {
		return err
	}
	rows := map[int64]*projection.Row{}
	for i := range stored {
		rows[stored[i].UserID] = &stored[i]
	}
	entries, err := r.d.Documents.Find(ctx, r.d.Target, places(lab, ids, suspects))
	if err != nil {
		return err
	}
	byUser := map[int64][]document.Entry{}
	for _, e := range entries { // an entry may be found twice
		if !slices.ContainsFunc(byUser[e.UserID], func(o document.Entry) bool { return o.Route == e.Route }) {
			byUser[e.UserID] = append(byUser[e.UserID], e)
		}
	}
	for _, id := range ids {
		suspect(found, judge.compare(lab, id, rows[id], byUser[id]))
	}
	return r.differing(ctx, lab, ids, found)
}

// places returns the documents to read: for each patient, the document on the laboratory's route and all others that
// were found.
func places(lab int64, ids []int64, suspects map[int64][]Difference) []document.Entry {
	var asked []document.Entry
	for _, id := range ids {
		asked = append(asked, document.Entry{UserID: id, Route: lab})
		for _, d := range suspects[id] {
			if d.Route != 0 && d.Route != lab {
				asked = append(asked, document.Entry{UserID: id, Route: d.Route})
			}
		}
	}
	return asked
}
