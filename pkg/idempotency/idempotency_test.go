package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/idempotency"
	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/mysqltest"
)

var morning = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// bills is a service that creates bills. Its change is a row, and its response is the row's number.
type bills struct {
	db    *sql.DB
	table idempotency.Table
	now   time.Time
}

func newBills(t *testing.T) *bills {
	t.Helper()
	table, err := idempotency.NewTable("idempotency_test")
	if err != nil {
		t.Fatal(err)
	}
	b := &bills{db: mysqltest.New(t), table: table, now: morning}
	schemas := []mysqldb.Schema{idempotency.Schema("test")}
	if err := mysqldb.Migrate(t.Context(), b.db, schemas, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	const bill = "CREATE TABLE bill (id INT AUTO_INCREMENT PRIMARY KEY, amount INT NOT NULL)"
	if _, err := b.db.ExecContext(t.Context(), bill); err != nil {
		t.Fatal(err)
	}
	return b
}

func scope(t *testing.T, lab int64) authn.LabScope {
	t.Helper()
	s, err := authn.Principal{Kind: authn.Session, LabID: lab}.Scope(0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(key, body string) idempotency.Request {
	return idempotency.Request{Key: key, Operation: "/lab.billsplit.v1.BillSplit/Split", Body: []byte(body)}
}

// add creates a bill. before runs within the transaction, after the change.
func (b *bills) add(t *testing.T, lab int64, r idempotency.Request, before func(ctx context.Context, tx *sql.Tx) error) (answer idempotency.Response, replayed bool, err error) {
	t.Helper()
	s := scope(t, lab)
	err = mysqldb.InTx(t.Context(), b.db, func(tx *sql.Tx) error {
		var err error
		answer, replayed, err = b.table.Once(t.Context(), tx, s, b.now, r, func() (idempotency.Response, error) {
			result, err := tx.ExecContext(t.Context(), "INSERT INTO bill (amount) VALUES (1)")
			if err != nil {
				return idempotency.Response{}, err
			}
			id, err := result.LastInsertId()
			return idempotency.Response{Status: 201, Body: fmt.Appendf(nil, "bill %d \x00\xff", id)}, err
		})
		if err == nil && before != nil {
			return before(t.Context(), tx)
		}
		return err
	})
	return answer, replayed, err
}

func (b *bills) mustAdd(t *testing.T, lab int64, r idempotency.Request) (idempotency.Response, bool) {
	t.Helper()
	answer, replayed, err := b.add(t, lab, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer, replayed
}

func (b *bills) requireBills(t *testing.T, want int) {
	t.Helper()
	var got int
	if err := b.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM bill").Scan(&got); err != nil || got != want {
		t.Fatalf("bills = %d, want %d, error %v", got, want, err)
	}
}

func TestRepeatedRequestGetsTheFirstResponseByteForByte(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	first, replayed := b.mustAdd(t, 12, request("k", "body"))
	if replayed {
		t.Fatal("replayed = true for the first request, want false")
	}
	second, replayed := b.mustAdd(t, 12, request("k", "body"))
	if diff := cmp.Diff(first, second); diff != "" || !replayed {
		t.Fatalf("replayed = %v, want true; response (-first +second):\n%s", replayed, diff)
	}
	b.requireBills(t, 1)
}

func TestKeyIsValidForOneRequestOfOneLaboratory(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	b.mustAdd(t, 12, request("k", "body"))
	if _, _, err := b.add(t, 12, request("k", "another body"), nil); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Fatalf("another body: error = %v, want ErrKeyReused", err)
	}
	other := request("k", "body")
	other.Operation = "/lab.billsplit.v1.BillSplit/Undo"
	if _, _, err := b.add(t, 12, other, nil); !errors.Is(err, idempotency.ErrKeyReused) {
		t.Fatalf("another operation: error = %v, want ErrKeyReused", err)
	}
	b.requireBills(t, 1)
	if _, replayed := b.mustAdd(t, 13, request("k", "another body")); replayed {
		t.Fatal("replayed = true for another laboratory, want false")
	}
	if _, replayed := b.mustAdd(t, 12, request("K", "body")); replayed {
		t.Fatal("replayed = true for a key that differs in case, want false")
	}
	b.requireBills(t, 3)
}

func TestKeysBelongToALogin(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	of := func(kind authn.ActorKind, id int64) idempotency.Request {
		r := request("k", "body")
		r.Actor = authn.Actor{Kind: kind, ID: id}
		return r
	}
	for _, r := range []idempotency.Request{of(authn.ActorLabUser, 77), of(authn.ActorLabUser, 78), of(authn.ActorDoctor, 77)} {
		if _, replayed := b.mustAdd(t, 12, r); replayed {
			t.Errorf("%s %d: replayed = true for the first request, want false", r.Actor.Kind, r.Actor.ID)
		}
		if _, replayed := b.mustAdd(t, 12, r); !replayed {
			t.Errorf("%s %d: replayed = false for the second request, want true", r.Actor.Kind, r.Actor.ID)
		}
	}
	b.requireBills(t, 3)
}

// The response must be replayed: during an upgrade, a client may repeat a request that version 1.0.0 executed, whose
// keys belong to the laboratory.
func TestARequestThatVersion100ExecutedIsReplayed(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	first, _ := b.mustAdd(t, 12, request("k", "body"))
	if _, err := b.db.ExecContext(t.Context(), "UPDATE idempotency_test SET key_hash = UNHEX(SHA2('k', 256))"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, replayed := b.mustAdd(t, 12, request("k", "body"))
		if diff := cmp.Diff(first, again); diff != "" || !replayed {
			t.Errorf("replayed = %t, want true; response (-first +again):\n%s", replayed, diff)
		}
	}
	if _, replayed := b.mustAdd(t, 12, request("k", "another body")); replayed {
		t.Error("replayed = true for another body, want false: this login has not used the key")
	}
	b.requireBills(t, 2)
}

func TestRequestsWithoutAKeyAreAllExecuted(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	for range 2 {
		if _, replayed := b.mustAdd(t, 12, request("", "body")); replayed {
			t.Fatal("replayed = true without a key, want false")
		}
	}
	b.requireBills(t, 2)
}

func TestInvalidKeyIsRefused(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	for _, key := range []string{"\xff\xfe", "a b", "a\x00b", "é", strings.Repeat("k", 256)} {
		if _, _, err := b.add(t, 12, request(key, "body"), nil); !errors.Is(err, idempotency.ErrKeyInvalid) {
			t.Errorf("key %q: error = %v, want ErrKeyInvalid", key, err)
		}
	}
	b.requireBills(t, 0)
	b.mustAdd(t, 12, request(strings.Repeat("~", 255), "body"))
}

func TestOnlyOneOfSixteenCallersWithOneKeyExecutes(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	const callers = 16
	responses := make([]idempotency.Response, callers)
	var executed atomic.Int32
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			response, replayed, err := b.add(t, 12, request("k", "body"), nil)
			if err != nil {
				t.Error(err)
			}
			if !replayed {
				executed.Add(1)
			}
			responses[i] = response
		})
	}
	group.Wait()
	b.requireBills(t, 1)
	for i := range responses {
		if diff := cmp.Diff(responses[0], responses[i]); diff != "" {
			t.Errorf("response of caller %d differs:\n%s", i, diff)
		}
	}
	if executed.Load() != 1 {
		t.Errorf("callers that executed the request = %d, want 1", executed.Load())
	}
}

// Half of the callers lose their connection after their change and before their commit. The server must roll them back.
func TestCallersThatDieBeforeCommitLeaveNothing(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	var kills atomic.Int32
	die := func(ctx context.Context, tx *sql.Tx) error {
		if kills.Add(1) > 8 {
			return nil
		}
		var id int64
		if err := tx.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			return err
		}
		_, err := b.db.ExecContext(ctx, "KILL CONNECTION ?", id)
		return err
	}
	var group sync.WaitGroup
	var succeeded atomic.Int32
	for range 16 {
		group.Go(func() {
			if _, _, err := b.add(t, 12, request("k", "body"), die); err == nil {
				succeeded.Add(1)
			} else if !errors.Is(err, mysqldb.ErrCommitUnknown) && !mysqldb.IsUnavailable(err) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	b.requireBills(t, 1)
	if succeeded.Load() == 0 {
		t.Fatal("no caller got a response, want at least one")
	}
	if _, replayed := b.mustAdd(t, 12, request("k", "body")); !replayed {
		t.Fatal("replayed = false afterwards, want true")
	}
}

func TestFailedRequestMayBeSentAgainWithItsKey(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	refused := errors.New("refused")
	if _, _, err := b.add(t, 12, request("k", "body"), func(context.Context, *sql.Tx) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	b.requireBills(t, 0)
	if _, replayed := b.mustAdd(t, 12, request("k", "corrected body")); replayed {
		t.Fatal("replayed = true after a failure, want false")
	}
	b.requireBills(t, 1)
}

func TestKeyExpiresAfterADay(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	b.mustAdd(t, 12, request("old", "body"))
	b.now = morning.Add(idempotency.KeyAge - time.Millisecond)
	if _, replayed := b.mustAdd(t, 12, request("old", "body")); !replayed {
		t.Fatal("replayed = false before the key expired, want true")
	}
	b.now = morning.Add(idempotency.KeyAge)
	if _, replayed := b.mustAdd(t, 12, request("old", "another body")); replayed {
		t.Fatal("replayed = true after the key expired, want false")
	}
	if _, replayed := b.mustAdd(t, 12, request("old", "another body")); !replayed {
		t.Fatal("replayed = false for the renewed key, want true")
	}
}

func TestSweepDeletesExpiredKeys(t *testing.T) {
	t.Parallel()
	b := newBills(t)
	const more = 501 // one more than a statement deletes
	for i := range more {
		if _, err := b.db.ExecContext(t.Context(), "INSERT INTO idempotency_test (lab_id, key_hash, request_hash, status, response, expires_at)"+
			" VALUES (?, REPEAT('k', 32), REPEAT('r', 32), 0, '', ?)", i+1, morning.UnixMilli()); err != nil {
			t.Fatal(err)
		}
	}
	b.mustAdd(t, 12_000, request("young", "body"))
	swept, err := b.table.Sweep(t.Context(), b.db, morning)
	if err != nil || swept != more {
		t.Fatalf("Sweep = %d, error %v, want %d", swept, err, more)
	}
	if _, replayed := b.mustAdd(t, 12_000, request("young", "body")); !replayed {
		t.Fatal("replayed = false for a key that has not expired, want true")
	}
}

func TestInvalidTableNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "idempotency_", "bill", "idempotency_a; DROP TABLE bill", "idempotency_Bill"} {
		if _, err := idempotency.NewTable(name); err == nil {
			t.Errorf("NewTable(%q) succeeded, want an error", name)
		}
	}
}
