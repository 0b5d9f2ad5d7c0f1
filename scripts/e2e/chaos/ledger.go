package main

import (
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/labplatform/labplatform/scripts/devstack/day"
)

// promise is a line of the ledger: an acknowledgement, and what must become true after it.
type promise struct {
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	Must   string    `json:"must"`   // a key of duties
	Within float64   `json:"within"` // seconds without an active fault
	day.Deed
	Save *save `json:"save,omitempty"`
	Note int64 `json:"note,omitempty"` // the id of a notification

	keptAt  time.Time // when a check found it kept; guarded by the ledger's mutex
	late    bool      // not kept in time; guarded by the ledger's mutex
	problem string    // result of the last check; guarded by the ledger's mutex
}

// from returns when the promise's time begins to run, provided no fault is active.
func (p *promise) from() time.Time {
	if p.NotBefore.After(p.At) {
		return p.NotBefore
	}
	return p.At
}

// ledger stores promises outside the platform. It writes each one to the disk before the run continues.
type ledger struct {
	mu       sync.Mutex
	file     *os.File
	promises []*promise // guarded by mu
}

func openLedger(path string) (*ledger, error) {
	file, err := os.Create(path)
	return &ledger{file: file}, err
}

// promised writes a line and returns its number. If the ledger cannot be written the program ends, because it proves
// nothing then.
func (l *ledger) promised(must string, p promise) (number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.Number, p.At, p.Must, p.Within = len(l.promises)+1, time.Now(), must, duties[must].within.Seconds()
	line, err := json.Marshal(p)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		panic("the ledger: " + err.Error())
	}
	l.promises = append(l.promises, &p)
	return p.Number
}

// open returns the promises that no check has found kept yet.
func (l *ledger) open() []*promise {
	return l.those(func(p *promise) bool { return p.keptAt.IsZero() })
}

func (l *ledger) those(match func(*promise) bool) []*promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []*promise
	for _, p := range l.promises {
		if match(p) {
			list = append(list, p)
		}
	}
	return list
}

// settle stores the result of a check of a promise. A promise whose time is over and that is not kept is late.
func (l *ledger) settle(p *promise, problem error, over bool) (newlyLate bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if problem == nil {
		p.keptAt, p.problem = time.Now(), ""
		return false
	}
	p.problem = problem.Error()
	newlyLate = !p.late && over
	p.late = p.late || over
	return newlyLate
}

// kind summarizes the promises of one kind.
type kind struct {
	Must, Says      string
	Within          time.Duration
	Promised, Kept  int
	Late            int
	Median, Longest time.Duration // times until they were kept, including times of faults
}

func (l *ledger) kinds() []kind {
	var list []kind
	for must, d := range duties {
		k := kind{Must: must, Says: d.says, Within: d.within}
		var took []time.Duration
		for _, p := range l.those(func(p *promise) bool { return p.Must == must }) {
			k.Promised++
			if p.late {
				k.Late++
			}
			if !p.keptAt.IsZero() {
				k.Kept++
				took = append(took, max(0, p.keptAt.Sub(p.from())))
			}
		}
		if slices.Sort(took); len(took) > 0 {
			k.Median, k.Longest = took[len(took)/2], took[len(took)-1]
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b kind) int { return b.Promised - a.Promised })
	return list
}
