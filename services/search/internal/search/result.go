package search

import (
	"time"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/lab/userindex"
)

// Scope limits what a caller may find: always one laboratory, and within it the branch, the organization and the
// collection centre of the login. Zero ids do not limit. A patient is in an organization, branch or centre by the
// registration or by any bill.
type Scope struct {
	Lab      authn.LabScope
	BranchID int64
	OrgID    int64
	CCID     int64
}

// Effort is how much a search may cost the index.
type Effort int

// The efforts.
const (
	Full    Effort = iota // everything
	Reduced               // without typing errors, sounds and recency
	Least                 // moreover only whole identifiers, whole telephone numbers and the beginnings of names
)

// Person is a patient as the index and the tables know one. Times are epoch milliseconds; lists are in their order
// there, newest last.
type Person = userindex.Card

// Hit is a patient who was found, and why.
type Hit struct {
	Person
	Score   float64
	Bucket  Bucket
	Matched []Field // in the order of the table of fields
	Match   Match
}

// Match is the weakest step that was needed for a hit, the closest first. From Sound on it is a guess.
type Match uint8

// The grades.
const (
	Exact    Match = iota // as it is registered, also in another order, joined or apart
	Begins                // the beginnings of words of the name
	Part                  // a part of a number or address
	Sound                 // a word of the name only sounds alike
	Typo                  // a word of the name has other letters
	Tolerant              // something that was asked for was left out
)

// String is the grade as the contract writes it.
func (m Match) String() string {
	return [...]string{"exact", "begins", "part", "sound", "typo", "tolerant"}[m]
}

// Result is one page of an answer.
type Result struct {
	Total    int64
	AtLeast  bool // Total is a lower bound
	Partial  bool // part of the index did not answer in time
	Took     time.Duration
	Hits     []Hit
	ByBucket map[Bucket]int64 // of all that was found, not of the page
	Next     string           // the cursor of the next page; "" when this one is not full
}
