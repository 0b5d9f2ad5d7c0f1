package idempotency

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/mysqldb"
)

const (
	maxKey    = 255     // bytes of a key
	maxAnswer = 4 << 20 // maximum bytes of a stored response
)

// ErrKeyInvalid is returned for an invalid key.
var ErrKeyInvalid = apperr.New(apperr.Invalid, "IDEMPOTENCY_KEY_INVALID",
	"the idempotency key must be 1 to 255 visible ASCII characters, for example a UUID")

// ErrKeyReused is returned for a key that was used for another request.
var ErrKeyReused = apperr.New(
	apperr.Conflict,
	"IDEMPOTENCY_KEY_REUSED",
	"this idempotency key was used for another request in the last 24 hours: repeat that request unchanged, or use a new key",
)

// Request describes a request that its caller may repeat under one key.
type Request struct {
	Actor     authn.Actor // owner of the key; all services of a laboratory share theirs
	Login     string      // distinguishes logins of one actor; used by Responses only
	Key       string      // chosen by the caller; empty: Table stores nothing, Responses refuses the request
	Operation string      // the RPC's full name; a key is valid for one operation
	Body      []byte      // every input of the operation, in a deterministic encoding
}

// Response is returned to the caller, now and whenever the request is repeated.
type Response struct {
	Status int // the service's own outcome code; may be 0
	Body   []byte
}

// KeyHeader is the metadata key of the idempotency key.
const KeyHeader = "idempotency-key"

// KeyFrom returns the idempotency key of an RPC, or "" if there is none.
func KeyFrom(ctx context.Context) string {
	if values := metadata.ValueFromIncomingContext(ctx, KeyHeader); len(values) > 0 {
		return values[0]
	}
	return ""
}

// ReplayedHeader is the metadata that marks a stored response.
const ReplayedHeader = "idempotent-replayed"

// MarkReplayed marks the response of the RPC as a stored one.
func MarkReplayed(ctx context.Context) {
	_ = grpc.SetHeader(ctx, metadata.Pairs(ReplayedHeader, "true")) // fails only outside an RPC
}

// RefusedHeader is the metadata that marks the response of a successful RPC as a refusal. Edges do not pass it on.
const RefusedHeader = "x-lab-refused"

// MarkRefused states that the RPC changed nothing, so that the request may be sent again with its key.
func MarkRefused(ctx context.Context) {
	_ = grpc.SetHeader(ctx, metadata.Pairs(RefusedHeader, "true")) // fails only outside an RPC
}

// CheckKey returns ErrKeyInvalid for an invalid key. The empty key, which means none, is valid.
func CheckKey(key string) error {
	if len(key) > maxKey {
		return ErrKeyInvalid
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return ErrKeyInvalid
		}
	}
	return nil
}

// Once executes work within tx unless the request was executed before, and returns its response; replayed reports that
// the response is a stored one. Of concurrent callers with one key one executes; the others wait for its commit and get
// its response, or execute themselves if it failed. The caller must roll back tx when Once fails, and retry after a
// deadlock; mysqldb.InTx does both.
func (t Table) Once(ctx context.Context, tx *sql.Tx, scope authn.LabScope, now time.Time, request Request,
	work func() (Response, error)) (response Response, replayed bool, err error) {
	if err := CheckKey(request.Key); err != nil {
		return Response{}, false, err
	}
	if request.Key == "" {
		response, err = work()
		return response, false, err
	}
	row := row{table: t.name, lab: scope.LabID(), key: keyOf(request.Actor, request.Key), request: request.hash()}
	before, found, err := row.claim(ctx, tx, now)
	if !found && err == nil {
		before, found, err = row.previous(ctx, tx, now, request.Key)
	}
	if found && err == nil {
		MarkReplayed(ctx)
	}
	if found || err != nil {
		return before, found, err
	}
	if response, err = work(); err != nil {
		return Response{}, false, err
	}
	return response, false, row.store(ctx, tx, response)
}

// keyOf returns the hash that is stored for a key of an actor.
func keyOf(a authn.Actor, key string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %d %s", a.Kind, a.ID, key))
}

// hash includes the length of the operation, the name of an RPC, so that no two requests hash the same text.
func (r Request) hash() [sha256.Size]byte {
	text := binary.BigEndian.AppendUint32(nil, uint32(len(r.Operation)))
	text = append(text, r.Operation...)
	return sha256.Sum256(append(text, r.Body...))
}

// row is the row of one key of one laboratory.
type row struct {
	table        string
	lab          int64
	key, request [sha256.Size]byte
}

// claim locks the row of the key; it inserts the row if the key is new. found reports that a valid response is stored.
func (r row) claim(ctx context.Context, tx *sql.Tx, now time.Time) (before Response, found bool, err error) {
	// The update changes nothing. Unlike a failed plain INSERT, it waits for the row's exclusive lock, so that two waiting
	// callers cannot deadlock.
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
		return Response{}, false, fmt.Errorf("claim key in %s: %w", r.table, err)
	}
	if inserted, err := result.RowsAffected(); err != nil || inserted == 1 {
		return Response{}, false, err
	}
	var request []byte
	var status sql.NullInt32
	var expiresAt int64
	err = tx.QueryRowContext(ctx, "SELECT request_hash, status, response, expires_at FROM "+r.table+" WHERE lab_id = ? AND key_hash = ? FOR UPDATE",
		r.lab, r.key[:]).
		Scan(&request, &status, &before.Body, &expiresAt)
	switch {
	case err != nil:
		return Response{}, false, fmt.Errorf("read key in %s: %w", r.table, err)
	case expiresAt <= now.UnixMilli() || !status.Valid:
		return Response{}, false, r.renew(ctx, tx, expires)
	case [sha256.Size]byte(request) != r.request:
		return Response{}, false, ErrKeyReused
	}
	before.Status = int(status.Int32)
	return before, true, nil
}

// previous returns the response of a request that version 1.0.0 executed. Its keys belong to the laboratory, not to the
// login. A client may repeat such a request during the upgrade.
func (r row) previous(
	ctx context.Context, tx *sql.Tx, now time.Time, key string,
) (before Response, found bool, err error) {
	hash := sha256.Sum256([]byte(key))
	err = tx.QueryRowContext(ctx, "SELECT status, response FROM "+r.table+
		" WHERE lab_id = ? AND key_hash = ? AND request_hash = ? AND status IS NOT NULL AND expires_at > ?",
		r.lab, hash[:], r.request[:], now.UnixMilli()).Scan(&before.Status, &before.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return Response{}, false, nil
	}
	return before, err == nil, mysqldb.Wrap("read key of version 1.0.0", err)
}

// renew assigns an expired key to this request.
func (r row) renew(ctx context.Context, tx *sql.Tx, expires int64) error {
	if _, err := tx.ExecContext(
		ctx,
		"UPDATE "+r.table+" SET request_hash = ?, status = NULL, response = NULL, expires_at = ? WHERE lab_id = ? AND key_hash = ?",
		r.request[:],
		expires,
		r.lab,
		r.key[:],
	); err != nil {
		return fmt.Errorf("renew key in %s: %w", r.table, err)
	}
	return nil
}

func (r row) store(ctx context.Context, tx *sql.Tx, response Response) error {
	if len(response.Body) > maxAnswer {
		return fmt.Errorf(
			"response for %s has %d bytes; the maximum is %d",
			r.table,
			len(response.Body),
			maxAnswer,
		)
	}
	if response.Body == nil {
		response.Body = []byte{} // the same after a repetition as for the first caller
	}
	if _, err := tx.ExecContext(ctx, "UPDATE "+r.table+" SET status = ?, response = ? WHERE lab_id = ? AND key_hash = ?",
		response.Status, response.Body, r.lab, r.key[:]); err != nil {
		return fmt.Errorf("store response in %s: %w", r.table, err)
	}
	return nil
}
