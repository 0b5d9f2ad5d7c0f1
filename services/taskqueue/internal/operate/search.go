package operate

import (
	"context"
	"github.com/labplatform/labplatform/services/taskqueue/internal/api"
)

const (
	searchSteps = 10 // of one request
	// MaxFound is the most jobs of one answer.
	MaxFound = 100
)

// Found is one answer of a search.
type Found struct {
	Jobs   []*api.Job
	Looked int
	Next   string // the cursor to go on from; empty: that was all
}

// Search finds up to most jobs from a cursor on. It looks at a bounded number of them: no jobs and a cursor mean that
// none was found so far.
func (o *Operator) Search(ctx context.Context, f Filter, cursor string, most int) (Found, error) {
	most = max(1, min(most, MaxFound))
	out := Found{Next: cursor}
	for range searchSteps {
		found, looked, next, err := o.step(ctx, f, out.Next, most-len(out.Jobs))
		if err != nil {
			return Found{}, err
		}
		for _, one := range found {
			out.Jobs = append(out.Jobs, one.view)
		}
		out.Looked, out.Next = out.Looked+looked, next
		if next == "" || len(out.Jobs) >= most {
			break
		}
	}
	return out, nil
}
