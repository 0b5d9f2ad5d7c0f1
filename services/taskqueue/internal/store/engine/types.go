package engine

import (
	"errors"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Batch is one request: all of its jobs are accepted together or none. They live on one shard.
type Batch struct {
	IdempotencyKey string        // already scoped to the caller; never empty
	RequestHash    string        // equal keys with another hash are a conflict; holds no comma
	KeepKey        time.Duration // how long a repeat is recognised
	// OwnKey: the key was made for this very batch. Only this batch repeats it, so its ids need not be kept.
	OwnKey bool
	Full   bool // the laboratory has its part of the memory: repeats and joins get their answer, new jobs ErrFlowFull
	Jobs   []NewJob
}

// NewJob is one element of a batch.
type NewJob struct {
	ID     job.ID
	DueMs  int64 // 0: now
	Flow   job.Flow
	Body   []byte
	Window *Window // nil: none
}

// Window asks to join the waiting job of the same key instead of adding one.
type Window struct {
	Key      string // hash of laboratory, task, task_type, priority and the caller's key
	Seen     job.ID // override only: what LookupWindow said; empty: none
	Override bool   // replace the waiting job's body and due time, keeping its id
}

// Refusals of Enqueue. What is full drains: try again later.
var (
	ErrConflict      = errors.New("idempotency key was used for another request")
	ErrLaneFull      = errors.New("lane is full")
	ErrFlowFull      = errors.New("a flow's part of the lane is full")
	ErrMemoryFull    = errors.New("the queue's memory is full")
	ErrWindowChanged = errors.New("window changed since it was read") // override only: read again
)

// Accepted is the answer to a batch: ids in request order.
type Accepted struct {
	IDs    []job.ID
	Replay bool // the batch had been accepted before
}

// ClaimRequest asks for ready jobs of one channel.
type ClaimRequest struct {
	Shard   int
	Channel job.Channel
	Max     int
	Claimer string      // names the caller among all that claim from this queue
	Last    int64       // the token of the caller's last claim whose answer it got; 0: none
	Doubt   bool        // the answer of the claim after Last got lost: its jobs never ran
	Turn    int         // how many jobs the caller claimed before: small claims add up to the shares of the priorities
	After   [3]job.Flow // by priority: the flow that was served last, as the claim before said; the next one comes first
	Limits  *Limits     // nil: any flow may take all
}

// Limits are what the caller has places for, so that no flow takes the places of the others.
type Limits struct {
	Ordinary     int // jobs of all ordinary flows together; the rest of Max is for reserved ones
	EachOrdinary int // jobs of one flow
	EachReserved int
	Flows        map[job.Flow]int // limits that override Each, of flows with running jobs; FlowPaused skips the flow
}

// FlowPaused is the limit of a paused flow.
const FlowPaused = -1

// Claim is a set of jobs leased under one token.
type Claim struct {
	NowMs     int64 // Redis's clock when the lease began
	NextDueMs int64 // when it is worth asking again; -1: nothing waits
	Token     int64
	Jobs      []Leased
	After     [3]job.Flow // for the next claim
	Held      bool        // ready jobs were left because their flows are at their limits
}

// Leased is one claimed job. ReadBodies sets Raw; where it stays nil, there is nothing left to run.
type Leased struct {
	ID   job.ID
	Flow job.Flow
	Raw  []byte
}

// Op says how a lease ends.
type Op byte

// The ends of a lease.
const (
	OpSucceed Op = 's'
	OpFail    Op = 'f'
	OpUnknown Op = 'u'
	OpCancel  Op = 'c'
	OpRetry   Op = 'r'
	OpRelease Op = 'l'
	OpDrop    Op = 'd'
)

// Settlement ends one lease. Payload is the result record, for OpRetry the new body, else nil.
type Settlement struct {
	ID        job.ID
	Token     int64
	Op        Op
	Delay     time.Duration // OpRetry, OpRelease
	Flow      job.Flow      // OpRetry, OpRelease, OpFail, OpUnknown
	Payload   []byte
	Counter   int64  // reaper: the crash counter to store; 0: leave
	Window    string // OpRetry, OpRelease after a crash: no one joins the job any more; empty: it has none
	Callbacks []NewJob
	// To, of OpRetry and OpRelease: the job is parked until Unpark lets its group go, at most for Delay.
	To job.Destination
}

// Verdict answers a settlement.
type Verdict int

// The verdicts.
const (
	VerdictLost            Verdict = 0 // the lease is not mine any more; nothing was changed
	VerdictDone            Verdict = 1
	VerdictAlready         Verdict = 2 // a result is stored: a repeat of this call, or someone else's end
	VerdictCancelRequested Verdict = 3 // retry and release are refused: end it as cancelled
	VerdictUntold          Verdict = 4 // done; its callbacks were dropped, because too many of its flow wait
)

// Done reports whether the settlement took effect.
func (v Verdict) Done() bool { return v == VerdictDone || v == VerdictUntold }

// Renewal prolongs one lease from Mine to Proposed; either is accepted as the present one.
type Renewal struct {
	ID        job.ID
	Mine      int64
	Proposed  int64
	ClaimedMs int64
}

// Renewed answers a renewal.
type Renewed int

// The answers.
const (
	RenewLost            Renewed = 0
	RenewOK              Renewed = 1
	RenewCancelRequested Renewed = 2
)

// Expired is a lease that ran out, with what is known about its job.
type Expired struct {
	ID       job.ID
	Token    int64
	Raw      []byte // nil: nothing to run
	Evidence job.Evidence
}

// Cancellation asks to end one waiting job with Record, or to mark a running one.
type Cancellation struct {
	ID        job.ID
	Record    []byte
	Callbacks []NewJob
}

// Cancelled is the result of a request to cancel a job.
type Cancelled int

// The answers.
const (
	CancelNotFound  Cancelled = 0
	CancelDone      Cancelled = 1
	CancelRequested Cancelled = 2
	CancelFinished  Cancelled = 3
)

// Move asks that a waiting job runs at another time.
type Move struct {
	ID       job.ID
	DueMs    int64
	Observed []byte // its body
	Body     []byte // the same with the new times
	Window   string // its window lives as much longer; empty: none
}

// Moved answers a reschedule.
type Moved int

// The answers.
const (
	MoveNotFound Moved = 0
	MoveDone     Moved = 1
	MoveTooLate  Moved = 2 // running or finished
	MoveChanged  Moved = 3 // its body is not the observed one any more: read again
)

// Place is where a job is.
type Place int

// The places.
const (
	PlaceNone   Place = 0
	PlaceLane   Place = 1
	PlaceLease  Place = 2
	PlaceResult Place = 3
)

// Snapshot is one job at one instant.
type Snapshot struct {
	ID              job.ID
	Place           Place
	NowMs           int64
	DueMs           int64 // PlaceLane
	DeadlineMs      int64 // PlaceLease
	ClaimedMs       int64 // PlaceLease, when the lease was renewed at least once
	Record          []byte
	Body            []byte
	CancelRequested bool
	Traces          Traces // everything that exists of it, for the auditor
	Token           int64  // of the lease; 0: none
}

// Depth is the load of one lane of one shard.
type Depth struct {
	Lane     job.Lane
	Waiting  int64 // all jobs in the lane
	Ready    int64 // of them due; the others are scheduled
	OldestMs int64 // age of the oldest ready job; 0: none is ready
	Running  int64 // leases of the channel; the same for its three lanes
	Begun    int64 // claimed ever
	Attempts int64 // of the channel, ever; the same for its three lanes, as the next
	Faults   int64 // of them without success
}

// Depths are what a shard, or all of them, has to do and to keep.
type Depths struct {
	Lanes []Depth // in the order of job.Lanes
	Dead  int64   // failed and unknown jobs, for retryTask and for operators
	Ends  int64   // ended jobs that wait for the archive
}
