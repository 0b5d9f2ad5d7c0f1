package search

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Scope limits what a caller may find: always one laboratory, and within it the branch, organization and collection
// center of the login. An id of zero does not limit. A patient belongs to an organization, branch or centre by the
// registration or by any bill.
type Scope struct {
	Lab      authn.LabScope
	BranchID int64
	OrgID    int64
	CCID     int64
}

// Effort is how much a search may cost the search engine.
type Effort int

// Efforts.
const (
	Full    Effort = iota // all comparisons
	Reduced               // without typing errors, sounds and recency
	Least                 // only complete identifiers, complete telephone numbers and beginnings of names
)

// Person is a patient as stored in the index and the tables. Times are in epoch milliseconds. Lists have the order of
// the index, the newest last.
type Person = userindex.Card

// Hit is a patient who was found, with the reason.
type Hit struct {
	Person
	Score   float64
	Bucket  Bucket
	Matched []Field // in the order of Fields
	Match   Match
}

// Match is the grade of a hit: the weakest comparison needed to find it, the closest first. From Sound on, the hit is a
// guess.
type Match uint8

// Grades.
const (
	Exact    Match = iota // as registered; words of the name may be in another order, joined or split
	Begins                // the beginnings of words of the name
	Part                  // a part of a number or an address
	Sound                 // a word of the name only sounds alike
	Typo                  // a word of the name has a typing error
	Tolerant              // a part of the text was not found
)

// String returns the grade as the API names it.
func (m Match) String() string {
	return [...]string{"exact", "begins", "part", "sound", "typo", "tolerant"}[m]
}

// Result is one page of hits.
type Result struct {
	Total    int64
	AtLeast  bool // Total is a lower bound
	Partial  bool // part of the index did not respond in time
	Took     time.Duration
	Hits     []Hit
	ByBucket map[Bucket]int64 // counts of all hits, not only of the page
	Next     string           // cursor of the next page; "" if this page is not full
}
