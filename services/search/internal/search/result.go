package search

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Scope limits what a caller may find: always one laboratory, and within it the branch, organization and collection
// center of the login. An id of zero means no limit. A patient belongs to an organization, branch or centre through the
// registration or any bill, to an organization also through a report.
type Scope struct {
	Lab      authn.LabScope
	BranchID int64
	OrgID    int64
	CCID     int64
}

// Effort is the cost that a search may cause in the search engine.
type Effort int

// Efforts, the most expensive first.
const (
	Full    Effort = iota // all comparisons
	Reduced               // without typing errors, sounds, other forms of words and identifiers, and recency
	Least                 // only complete identifiers, telephone numbers and their parts, and prefixes of names
)

// Person is a patient as stored in the index and the tables. Times are in epoch milliseconds. Lists are in the order of
// the index, the newest entries last.
type Person = userindex.Card

// Hit is a patient found by a search, with the reason.
type Hit struct {
	Person
	Score   float64
	Bucket  Bucket
	Matched []Field // in the order of Fields
	Match   Match
}

// Match is the grade of a hit: the weakest comparison needed to find it. Grades are ordered, the closest first; from
// Sound on, a hit is a guess.
type Match uint8

// Grades of hits, the closest first.
const (
	Exact    Match = iota // as registered; the words of the name may be reordered, joined or split
	Begins                // prefixes of words of the name
	Part                  // part of a number or an address
	Sound                 // a word of the name sounds alike
	Typo                  // a word of the name has a typing error
	Tolerant              // part of the text was not found
)

// String returns the name of the grade in the API.
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
	ByBucket map[Bucket]int64 // counts of all hits, not just of this page
	Next     string           // cursor of the next page; "" if this page is not full
}
