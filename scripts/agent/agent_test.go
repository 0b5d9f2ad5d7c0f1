package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMain puts temporary folders into memory, if the machine has /dev/shm, because the journal is synced thousands of
// times.
func TestMain(m *testing.M) {
	if mode, fake := strings.CutPrefix(filepath.Base(os.Args[0]), fakePrefix); fake {
		fakeConverter(mode)
	}
	const memory = "/dev/shm"
	if _, err := os.Stat(memory); err == nil {
		if err := os.Setenv("TMPDIR", memory); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// story runs a test in virtual time, with a simulated platform and a user at a computer.
func story(t *testing.T, tell func(*testing.T, *hospital, *user)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHospital()
		tell(t, h, newUser(t, h))
	})
}

func TestAReportIsEditedAndAWeekLaterItsNewestSaveIsTheStart(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		u.start()
		u.wantDocument(template)
		u.types("ONE")
		u.wantReport(7001, "ONE")
		u.wantError(u.ctrlC(), nil)
		h.somebodyElse(7001, "B's work")
		time.Sleep(7 * 24 * time.Hour)
		u.start()
		u.wantDocument("B's work")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "B's work")
		if h.active(7001) != nil || len(h.revisions) != 2 {
			u.t.Errorf("%d saves", len(h.revisions))
		}
	})
}

func TestTheDocumentOfOneReportIsNotUploadedToAnother(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		u.start()
		u.types("the patient of 7001")
		u.wantError(u.ctrlC(), nil)
		u.report = 7003
		u.start()
		if err := u.ctrlC(); err == nil || !strings.Contains(err.Error(), "belongs to report 7001") {
			u.t.Errorf("%v", err)
		}
		if err := os.Remove(filepath.Join(u.dir, journalName)); err != nil {
			u.t.Fatal(err)
		}
		u.start()
		if err := u.ctrlC(); err == nil || !strings.Contains(err.Error(), "nothing names its report") {
			u.t.Errorf("without a journal: %v", err)
		}
		u.wantReport(7003, template)
	})
}

func TestNothingIsOverwrittenAfterATakeOver(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		u.start()
		h.somebodyElse(7001, "B's work")
		time.Sleep(2 * time.Minute) // until the next heartbeat
		u.wantError(<-u.done, errLost)
		u.types("A's old work")
		for range 2 {
			u.start()
			lost := u.ctrlC()
			u.wantError(lost, errLost)
			if !strings.Contains(lost.Error(), "move it and .agent.json away") {
				u.t.Errorf("it does not say how to start over: %v", lost)
			}
		}
		u.wantReport(7001, "B's work")
		u.wantDocument("A's old work")
	})
}

func TestAnExpiredSessionGoesOnUnlessSomebodySaved(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprint("someone saved ", other), func(t *testing.T) {
			story(t, func(_ *testing.T, h *hospital, u *user) {
				p := &process{dieBefore: 1000}
				u.start(p)
				u.types("ONE")
				p.dieNow()
				time.Sleep(3 * time.Minute)
				_ = u.ctrlC()
				u.types("TWO, typed while the machine had no agent")
				time.Sleep(9 * time.Hour)
				if other {
					h.somebodyElse(7001, "B's work")
				}
				u.start()
				u.wait()
				err := u.ctrlC()
				if !other {
					u.wantError(err, nil)
					u.wantReport(7001, "TWO, typed while the machine had no agent")
					return
				}
				u.wantError(err, errLost)
				u.wantReport(7001, "B's work")
				u.wantDocument("TWO, typed while the machine had no agent")
				if h.active(7001) != nil {
					t.Error("the report is held by no one's session")
				}
			})
		})
	}
}

// The session expires because the machine slept too long or a day has passed. As no one else has opened the report, the
// agent must open it again.
func TestASessionThatExpiredUnderARunningAgentIsOpenedAgain(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		u.start()
		u.types("ONE")
		h.expire(1)
		u.types("TWO")
		time.Sleep(2 * time.Minute)
		u.wantReport(7001, "TWO")
		u.types("THREE")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "THREE")
		if h.active(7001) != nil || len(h.sessions) != 2 {
			u.t.Errorf("%d sessions", len(h.sessions))
		}
	})
}

func TestAnExpiredSessionIsNotOpenedOverSomeoneElsesWork(t *testing.T) {
	for _, holds := range []bool{false, true} {
		t.Run(fmt.Sprint("someone holds the report ", holds), func(t *testing.T) {
			story(t, func(_ *testing.T, h *hospital, u *user) {
				u.takeOver = true // permits a take-over at the start only
				u.start()
				u.types("ONE")
				h.expire(1)
				h.somebodyElse(7001, "B's work")
				if holds {
					_, _ = h.create(context.Background(), 7001, "B's", creation{})
				}
				u.types("TWO, which Word still has open")
				u.wantError(<-u.done, errLost)
				u.wantReport(7001, "B's work")
				u.wantDocument("TWO, which Word still has open")
				if held := h.active(7001) != nil; held != holds {
					u.t.Errorf("someone holds the report %t, want %t", held, holds)
				}
			})
		})
	}
}

func TestARestoredSaveIsNotOverwritten(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		u.start()
		u.types("ONE")
		u.types("TWO")
		u.wantError(u.ctrlC(), nil)
		restored := h.revisions[0]
		restored.RestoredFrom = 1
		h.revisions = append(h.revisions, restored)
		u.types("THREE")
		u.start()
		u.wantError(u.ctrlC(), errLost)
		u.wantReport(7001, "ONE")
	})
}

func TestARefusedSaveIsNotCalledSaved(t *testing.T) {
	for _, code := range []int{http.StatusBadRequest, http.StatusConflict} { // damaged document; report signed
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			story(t, func(_ *testing.T, h *hospital, u *user) {
				h.refuse(&problem{Code: code, Message: "refused"})
				u.start()
				u.types("ONE")
				if !strings.Contains(u.said.String(), "NOT uploaded") {
					t.Errorf("it said %s", u.said)
				}
				u.wantError(u.ctrlC(), errNotSaved)
				if h.active(7001) == nil {
					t.Error("the session was ended silently")
				}
				h.refuse(nil) // the document was fixed, or the signature removed
				u.start()
				u.wantReport(7001, "ONE")
				u.wantError(u.ctrlC(), nil)
			})
		})
	}
}

func TestWhatPassesByItselfIsSaidAndTriedAgain(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		broken := errors.New("LibreOffice could not convert the document")
		u.converts(func(context.Context) error { return broken })
		u.start()
		u.types("ONE")
		if err := os.Remove(u.path()); err != nil { // word processors replace the file
			t.Fatal(err)
		}
		u.wait()
		u.converts(func(context.Context) error { return nil })
		u.types("TWO")
		time.Sleep(time.Minute)
		u.wantReport(7001, "TWO")
		if !strings.Contains(u.said.String(), broken.Error()) {
			t.Errorf("it said %s", u.said)
		}
		h.refuse(&problem{Code: http.StatusTooManyRequests, retryAfter: 20 * time.Second})
		u.types("THREE")
		h.refuse(nil)
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "THREE")
	})
}

func TestASlowConversionDoesNotLoseTheSession(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		h.ttl = 3 * time.Minute
		u.converts(func(context.Context) error {
			time.Sleep(30 * time.Minute)
			return nil
		})
		u.start()
		before := h.signs()
		u.types("ONE")
		time.Sleep(31 * time.Minute)
		if n := h.signs() - before; n < 30 {
			t.Errorf("%d signs of life in half an hour", n)
		}
		u.wantReport(7001, "ONE")
		u.wantError(u.ctrlC(), nil)
	})
}

// The agent must notice a save with the same length within the time resolution of a network share.
func TestASaveIsSeenAlthoughTimeAndSizeAreEqual(t *testing.T) {
	story(t, func(t *testing.T, _ *hospital, u *user) {
		u.start()
		u.types("Gleason 3+4=7")
		u.wantReport(7001, "Gleason 3+4=7")
		info, err := os.Stat(u.path())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(u.path(), []byte("Gleason 4+3=7"), 0o600),
			os.Chtimes(u.path(), info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
		u.wait()
		u.wantReport(7001, "Gleason 4+3=7")
		u.wantError(u.ctrlC(), nil)
	})
}

func TestAMissingDocumentIsSaidAtOnce(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		u.start()
		u.types("ONE")
		other := filepath.Join(u.dir, "Save As.docx")
		if err := os.Rename(u.path(), other); err != nil {
			t.Fatal(err)
		}
		u.wait()
		if n := strings.Count(u.said.String(), "report.docx is missing"); n != 1 {
			t.Errorf("said %d times: %s", n, u.said)
		}
		begin := time.Now()
		err := u.ctrlC()
		u.wantError(err, errNotSaved)
		if time.Since(begin) > time.Second || !strings.Contains(err.Error(), "is missing") {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		if err := os.Rename(other, u.path()); err != nil {
			t.Fatal(err)
		}
		u.start()
		u.types("TWO")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "TWO")
	})
}

func TestCtrlCTakesLessThanTenSeconds(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		hangs := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		u.converts(hangs)
		u.start()
		u.types("ONE")
		begin := time.Now()
		err := u.ctrlC()
		u.wantError(err, errNotSaved)
		if time.Since(begin) >= 10*time.Second || !strings.Contains(err.Error(), "sent when you start") {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		u.wantDocument("ONE")
		u.converts(func(context.Context) error { return nil })
		u.start()
		u.wantReport(7001, "ONE")
		u.wantError(u.ctrlC(), nil)
	})
}

func TestTrackedChangesAreNotPublishedUnasked(t *testing.T) {
	for _, final := range []bool{false, true} {
		t.Run(fmt.Sprint("final ", final), func(t *testing.T) {
			story(t, func(t *testing.T, h *hospital, u *user) {
				u.check = func(path string) (bool, error) {
					content, err := os.ReadFile(path)
					return strings.Contains(string(content), "tracked"), err
				}
				u.final = final
				u.start()
				document := wordDocument(t, "carcinoma, tracked")
				u.types(document)
				if !final {
					u.wantReport(7001, template)
					if !strings.Contains(u.said.String(), "accept or reject them") {
						t.Errorf("it said %s", u.said)
					}
					u.types("fibroadenoma")
				}
				u.wantError(u.ctrlC(), nil)
				want := map[bool]string{false: "fibroadenoma", true: document}[final]
				u.wantReport(7001, want)
			})
		})
	}
}

func TestTwoAgentsInOneFolderExcludeEachOther(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		u.start()
		second := newUser(t, h)
		second.dir = u.dir
		second.start()
		if err := second.ctrlC(); err == nil || !strings.Contains(err.Error(), "another agent works in the folder") {
			t.Errorf("%v", err)
		}
		u.types("ONE")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "ONE")
	})
}

// After a sleep of the machine, or a lost response, the session must continue with a newer token.
func TestATokenThatGrewOldIsReplaced(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		u.start()
		h.agesTokens(1)
		u.types("ONE")
		time.Sleep(2 * time.Minute) // until the next heartbeat
		u.wantReport(7001, "ONE")
		u.wantError(u.ctrlC(), nil)
		if len(h.sessions) != 1 || h.active(7001) != nil {
			u.t.Errorf("%d sessions", len(h.sessions))
		}
	})
}

func TestAPDFIsNotPublishedByAStandInUnasked(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := converter("", false); !errors.Is(err, errNoConverter) {
		t.Errorf("got %v, want errNoConverter", err)
	}
	if _, err := converter("", true); err != nil {
		t.Errorf("when told to: %v", err)
	}
}
