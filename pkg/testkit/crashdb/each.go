package crashdb

import (
	"database/sql"
	"testing"
)

// maxStatements is far above the number of statements of any use case.
const maxStatements = 1000

// Each runs a use case in one process after another. The first process dies before its first statement, the second
// before its second, and so on, until one finishes without an error. If the statement is a commit, or an exec outside a
// transaction, one more process executes it and loses the response.
//
// open returns the DSN of the next process's database. check gets each crash and the use case's error. Each returns all
// crashes, so that a test can check that there were some. It fails when a response is not lost because the process
// executes another statement at that place than the one before.
func Each(t testing.TB, open func() string, run func(*sql.DB) error, check func(Crash, error)) []Crash {
	t.Helper()
	var crashes []Crash
	crash := func(at Crash) (Crash, bool) {
		t.Helper()
		c, happened, err := once(t, open(), at, run)
		if !happened && err != nil {
			t.Fatalf("the use case failed without a crash, after %d statements: %v", at.Statement-1, err)
		}
		if happened {
			crashes = append(crashes, c)
			check(c, err)
		}
		return c, happened
	}
	for n := 1; n <= maxStatements; n++ {
		c, happened := crash(Crash{Statement: n})
		if !happened {
			return crashes
		}
		if c.kind != commits {
			continue
		}
		if lost, happened := crash(Crash{Statement: n, AnswerLost: true}); !happened || lost.kind != commits {
			t.Fatalf("statement %d was %s, but no response to it was lost in the next process: %s", n, c.Text, lost.Text)
		}
	}
	t.Fatalf("the use case did not finish within %d statements", maxStatements)
	return nil
}

func once(t testing.TB, dsn string, at Crash, run func(*sql.DB) error) (Crash, bool, error) {
	t.Helper()
	p := Start(t, dsn, at)
	defer func() { _ = p.DB.Close() }()
	err := run(p.DB)
	c, happened := p.Crashed()
	return c, happened, err
}
