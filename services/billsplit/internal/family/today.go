package family

import (
	"context"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/sight"
	"github.com/labplatform/labplatform/pkg/lab/worklist"
	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
	"github.com/labplatform/labplatform/services/billsplit/internal/split"
)

// Splittable is a bill that can be split.
type Splittable struct {
	ID           int64
	LabBillID    int64
	OrderNumber  string
	Organization string // "" without one
	Amount       bill.Paise
	Tests        int // number of tests that can be chosen; a profile counts as one
	BilledAt     time.Time
	Patient      worklist.Patient
}

// Today is a page of the splittable bills of a day.
type Today struct {
	worklist.List[Splittable]

	Day string // day in the laboratory's time zone, YYYY-MM-DD
}

// Today returns the splittable bills of the present day in the laboratory's time zone, the newest first.
func (v *Viewer) Today(ctx context.Context, s sight.Sight, p worklist.Page) (Today, error) {
	defer split.Timed(v.clock, v.observer, modeToday)()
	return v.reader.Today(ctx, s, v.clock.Now(), p, v.rules)
}
