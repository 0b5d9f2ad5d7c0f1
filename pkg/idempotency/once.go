package idempotency

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
)

const (
	mostKey    = 255     // bytes of a key
	mostAnswer = 4 << 20 // bytes of an answer
)

// ErrKeyInvalid reports that the key is not one.
var ErrKeyInvalid = apperr.New(apperr.Invalid, "IDEMPOTENCY_KEY_INVALID",
	"the idempotency key must be 1 to 255 visible ASCII characters, for example a UUID")

// ErrKeyReused reports that the key was used for something else.
var ErrKeyReused = apperr.New(
	apperr.Conflict,
	"IDEMPOTENCY_KEY_REUSED",
	"this idempotency key was used for another request in the last 24 hours: repeat that request unchanged, or take a new key",
)

// Request is what a caller sent.
type Request struct {
	Key       string // the caller's; "" means that the request is not to be remembered
	Operation string // the RPC's full name: one key cannot serve two operations
	Body      []byte // everything that the outcome depends on, encoded the same way every time
}

// Answer is what the caller gets, now and whenever the request is repeated.
type Answer struct {
	Status int // the service's own code for what happened; 0 will do
	Body   []byte
}

// CheckKey refuses what cannot be a key; "" means that there is none.
func CheckKey(key string) error {
	if len(key) > mostKey {
		return ErrKeyInvalid
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return ErrKeyInvalid
		}
	}
	return nil
}

// Once runs work within tx unless the request was answered before, and returns the answer. replayed reports that it is
// the one of before. Of callers with one key one works; the others wait for its commit and get its answer, or work
// themselves when it failed. The caller must roll tx back when Once fails, and run it again on a deadlock: mysqldb.InTx
// does both.
func (t Table) Once(ctx context.Context, tx *sql.Tx, scope authn.LabScope, now time.Time, request Request,
	work func() (Answer, error)) (answer Answer, replayed bool, err error) {
	if err := CheckKey(request.Key); err != nil {
		return Answer{}, false, err
	}
	if request.Key == "" {
		answer, err = work()
		return answer, false, err
	}
	row := row{table: t.name, lab: scope.LabID(), key: sha256.Sum256([]byte(request.Key)), request: request.hash()}
	before, found, err := row.claim(ctx, tx, now)
	if found || err != nil {
		return before, found, err
	}
	if answer, err = work(); err != nil {
		return Answer{}, false, err
	}
	return answer, false, row.store(ctx, tx, answer)
}

// hash covers the operation with its length, so that no two requests meet in one text.
func (r Request) hash() [sha256.Size]byte {
	text := binary.BigEndian.AppendUint32(nil, uint32(len(r.Operation))) // the name of an RPC
	text = append(text, r.Operation...)
	return sha256.Sum256(append(text, r.Body...))
}

// row is one key of one laboratory.
type row struct {
	table        string
	lab          int64
	key, request [sha256.Size]byte
}

// claim locks the row of the key, making it first when it is new. found is true when an answer is there that counts.
func (r row) claim(ctx context.Context, tx *sql.Tx, now time.Time) (before Answer, found bool, err error) {
	// The update changes nothing; unlike a plain INSERT that fails, it waits for the row's exclusive lock, and two that
	// wait cannot stand in each other's way.
	expires := now.Add(KeyAge).UnixMilli()
	result, err := tx.ExecContext(
		ctx,
		"INSERT INTO "+r.table+" (lab_id, key_hash, request_hash, expires_at) VALUES (?, ?, ?, ?)"+
			" ON DUPLICATE KEY UPDATE lab_id = lab_id",
		r.lab,
		r.key[:],
		r.request[:],
		expires,
	)
	if err != nil {
		return Answer{}, false, fmt.Errorf("claim a key of %s: %w", r.table, err)
	}
	if inserted, err := result.RowsAffected(); err != nil || inserted == 1 {
		return Answer{}, false, err
	}
	var request []byte
	var status sql.NullInt32
	var expiresAt int64
	err = tx.QueryRowContext(ctx, "SELECT request_hash, status, response, expires_at FROM "+r.table+" WHERE lab_id = ? AND key_hash = ? FOR UPDATE",
		r.lab, r.key[:]).
		Scan(&request, &status, &before.Body, &expiresAt)
	switch {
	case err != nil:
		return Answer{}, false, fmt.Errorf("read a key of %s: %w", r.table, err)
	case expiresAt <= now.UnixMilli() || !status.Valid:
		return Answer{}, false, r.renew(ctx, tx, expires)
	case [sha256.Size]byte(request) != r.request:
		return Answer{}, false, ErrKeyReused
	}
	before.Status = int(status.Int32)
	return before, true, nil
}

// renew makes an expired key this request's.
func (r row) renew(ctx context.Context, tx *sql.Tx, expires int64) error {
	if _, err := tx.ExecContext(
		ctx,
		"UPDATE "+r.table+" SET request_hash = ?, status = NULL, response = NULL, expires_at = ? WHERE lab_id = ? AND key_hash = ?",
		r.request[:],
		expires,
		r.lab,
		r.key[:],
	); err != nil {
		return fmt.Errorf("renew a key of %s: %w", r.table, err)
	}
	return nil
}

func (r row) store(ctx context.Context, tx *sql.Tx, answer Answer) error {
	if len(answer.Body) > mostAnswer {
		return fmt.Errorf(
			"answer for %s has %d bytes, and at most %d can be remembered",
			r.table,
			len(answer.Body),
			mostAnswer,
		)
	}
	if answer.Body == nil {
		answer.Body = []byte{} // NULL would be no answer
	}
	if _, err := tx.ExecContext(ctx, "UPDATE "+r.table+" SET status = ?, response = ? WHERE lab_id = ? AND key_hash = ?",
		answer.Status, answer.Body, r.lab, r.key[:]); err != nil {
		return fmt.Errorf("store an answer in %s: %w", r.table, err)
	}
	return nil
}
