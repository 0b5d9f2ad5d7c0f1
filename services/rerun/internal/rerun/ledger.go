package rerun

import "slices"

// Ledger is what the activity log says of the report's present rerun: everything since the last confirm or abort.
// It is part of the database that holds the row lock, so it knows exactly what was committed.
type Ledger struct {
	Requests    []Mark // committed requests, oldest first
	Repetitions []Mark // committed repetitions of instruments on their own, oldest first
}

// Mark proves that the transaction of a record was committed.
type Mark struct {
	RerunID     string
	Number      int
	Requested   []int  // of a request
	Fingerprint string // of a repetition: device, sample, and every index with its value
}

// Request returns the committed request of a number.
func (l Ledger) Request(number int) (Mark, bool) {
	i := slices.IndexFunc(l.Requests, func(m Mark) bool { return m.Number == number })
	if i < 0 {
		return Mark{}, false
	}
	return l.Requests[i], true
}

// Latest returns the request that decides whether the rerun is fulfilled: the one with the highest number.
func (l Ledger) Latest() (Mark, bool) {
	if len(l.Requests) == 0 {
		return Mark{}, false
	}
	return slices.MaxFunc(l.Requests, func(a, b Mark) int { return a.Number - b.Number }), true
}

// LastRepetition returns the newest repetition of an instrument on its own.
func (l Ledger) LastRepetition() (Mark, bool) {
	if len(l.Repetitions) == 0 {
		return Mark{}, false
	}
	return l.Repetitions[len(l.Repetitions)-1], true
}

// Committed reports whether a record belongs to the present rerun.
func (l Ledger) Committed(id string) bool {
	marks := func(m Mark) bool { return m.RerunID == id }
	return slices.ContainsFunc(l.Requests, marks) || slices.ContainsFunc(l.Repetitions, marks)
}

// Highest returns the largest number, 0 when there is none.
func (l Ledger) Highest() int {
	highest := 0
	for _, m := range slices.Concat(l.Requests, l.Repetitions) {
		highest = max(highest, m.Number)
	}
	return highest
}

// Size is how many reruns there are.
func (l Ledger) Size() int { return len(l.Requests) + len(l.Repetitions) }
