package engine

import (
	"errors"
	"time"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Batch is one request. Its jobs are accepted together or not at all, and are on one shard.
type Batch struct {
	IdempotencyKey string        // already scoped to the caller; never empty
	RequestHash    string        // the same key with another hash is a conflict; must not contain a comma
	KeepKey        time.Duration // how long repeats of the request are recognized
	// OwnKey is set if the key was created for this batch. Only this batch repeats it, so its ids need not be stored.
	OwnKey bool
	Full   bool // the laboratory's byte quota is used up: repeats and joins succeed, new jobs get ErrFlowFull
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

// Window is a request to join the waiting job with the same key instead of adding a job.
type Window struct {
	Key      string // hash of laboratory, task, task_type, priority and the caller's key
	Seen     job.ID // with Override: the result of LookupWindow; empty: the window held no job
	Override bool   // replace the waiting job's body and due time, keeping its id
}

// Reasons why Enqueue rejects a batch. The "full" errors are temporary: the caller may retry later.
var (
	ErrConflict      = errors.New("idempotency key was used for another request")
	ErrLaneFull      = errors.New("lane is full")
	ErrFlowFull      = errors.New("a flow's part of the lane is full")
	ErrMemoryFull    = errors.New("the queue's memory is full")
	ErrWindowChanged = errors.New("window changed since it was read") // with Override: read the window again
)

// Accepted is the result of Enqueue; the ids are in the order of the request.
type Accepted struct {
	IDs    []job.ID
	Replay bool // the batch had already been accepted
}

// ClaimRequest is a request for ready jobs of one channel.
type ClaimRequest struct {
	Shard   int
	Channel job.Channel
	Max     int
	Claimer string      // unique name of the caller among all claimers of this queue
	Last    int64       // token of the last claim whose reply arrived; 0: none
	Doubt   bool        // the reply to the claim after Last was lost, so its jobs never ran
	Turn    int         // jobs claimed by the caller before; makes small claims add up to the shares of the priorities
	After   [3]job.Flow // by priority: the flow served last by the previous claim; this claim starts with the next one
	Limits  *Limits     // nil: one flow may take all
}

// Limits are the free slots of the caller per flow, so that one flow cannot use the slots of the others.
type Limits struct {
	Ordinary     int // jobs of all ordinary flows together; the rest of Max is kept for reserved flows
	EachOrdinary int // jobs per flow, unless Flows has a limit for it
	EachReserved int
	Flows        map[job.Flow]int // limits that override Each*, for flows with running jobs; FlowPaused skips the flow
}

// FlowPaused is the limit of a paused flow.
const FlowPaused = -1

// Claim is a set of jobs leased under one token.
type Claim struct {
	NowMs     int64 // time of Redis's clock at the start of the lease
	NextDueMs int64 // when the next claim can find a job; -1: no jobs wait
	Token     int64
	Jobs      []Leased
	After     [3]job.Flow // to be passed in the next ClaimRequest
	Held      bool        // ready jobs were skipped because their flows are at their limits
}

// Leased is one claimed job. ReadBodies sets Raw. If it stays nil, the job has no body and cannot run.
type Leased struct {
	ID   job.ID
	Flow job.Flow
	Raw  []byte
}

// Op is the way in which a lease ends.
type Op byte

// Succeed, fail, unknown and cancel end the job with a result. Retry and release return it to a lane, with a new body
// or the old one. Drop removes a job that cannot run.
const (
	OpSucceed Op = 's'
	OpFail    Op = 'f'
	OpUnknown Op = 'u'
	OpCancel  Op = 'c'
	OpRetry   Op = 'r'
	OpRelease Op = 'l'
	OpDrop    Op = 'd'
)

// Settlement ends one lease. Payload is the result record or, for OpRetry, the new body; otherwise nil.
type Settlement struct {
	ID        job.ID
	Token     int64
	Op        Op
	Delay     time.Duration // for OpRetry and OpRelease
	Flow      job.Flow      // for OpRetry, OpRelease, OpFail and OpUnknown
	Payload   []byte
	Counter   int64  // for the reaper: crash counter to store; 0: unchanged
	Window    string // OpRetry, OpRelease after a crash: window that the job leaves; empty: none
	Callbacks []NewJob
	// To parks the job of an OpRetry or OpRelease until Unpark releases its group, at most for Delay.
	To job.Destination
}

// Verdict is the result of a settlement.
type Verdict int

// Results of a settlement, numbered as in settle.lua.
const (
	VerdictLost            Verdict = 0 // the caller no longer holds the lease; nothing was changed
	VerdictDone            Verdict = 1
	VerdictAlready         Verdict = 2 // a result is already stored, by an earlier call or another process
	VerdictCancelRequested Verdict = 3 // retry and release are rejected: settle the job as cancelled
	VerdictUntold          Verdict = 4 // done, but its callbacks were dropped, because too many of its flow wait
)

// Done reports whether the settlement took effect.
func (v Verdict) Done() bool { return v == VerdictDone || v == VerdictUntold }

// Renewal extends one lease from token Mine to token Proposed. The lease may have either of them.
type Renewal struct {
	ID        job.ID
	Mine      int64
	Proposed  int64
	ClaimedMs int64
}

// Renewed is the result of a renewal.
type Renewed int

// Results of a renewal. With RenewCancelRequested the lease is extended, and the worker should stop the job.
const (
	RenewLost            Renewed = 0
	RenewOK              Renewed = 1
	RenewCancelRequested Renewed = 2
)

// Expired is an expired lease and the stored data about its job.
type Expired struct {
	ID       job.ID
	Token    int64
	Raw      []byte // body of the job; nil: the job cannot run
	Evidence job.Evidence
}

// Cancellation is a request to end one waiting job with Record, or to mark a running one.
type Cancellation struct {
	ID        job.ID
	Record    []byte
	Callbacks []NewJob
}

// Cancelled is the result of a request to cancel a job.
type Cancelled int

// Results of Cancel. Only CancelDone means that this call ended the job; CancelRequested marked a running one.
const (
	CancelNotFound  Cancelled = 0
	CancelDone      Cancelled = 1
	CancelRequested Cancelled = 2
	CancelFinished  Cancelled = 3
)

// Move is a request to run a waiting job at another time.
type Move struct {
	ID       job.ID
	DueMs    int64
	Observed []byte // current body of the job
	Body     []byte // the body with the new times
	Window   string // window of the job, which is extended too; empty: none
}

// Moved is the result of Reschedule.
type Moved int

// Results of Reschedule. Only MoveDone changed the job.
const (
	MoveNotFound Moved = 0
	MoveDone     Moved = 1
	MoveTooLate  Moved = 2 // the job is running or finished
	MoveChanged  Moved = 3 // the body is not the observed one: read the job again
)

// Place is the state of a job, given by where it is stored.
type Place int

// A job with PlaceResult has ended, possibly as a dead letter. PlaceNone means that the queue does not have it.
const (
	PlaceNone   Place = 0
	PlaceLane   Place = 1
	PlaceLease  Place = 2
	PlaceResult Place = 3
)

// Snapshot is the state of one job at one instant.
type Snapshot struct {
	ID              job.ID
	Place           Place
	NowMs           int64
	DueMs           int64 // set for PlaceLane
	DeadlineMs      int64 // set for PlaceLease
	ClaimedMs       int64 // set for PlaceLease if the lease was renewed at least once
	Record          []byte
	Body            []byte
	CancelRequested bool
	Traces          Traces // all places with data of the job, for the invariant check
	Token           int64  // fencing token of the lease; 0: none
}

// Depth is the load of one lane on one shard.
type Depth struct {
	Lane     job.Lane
	Waiting  int64 // all jobs in the lane
	Ready    int64 // jobs that are due; the others are scheduled
	OldestMs int64 // age of the oldest ready job; 0 if none is ready
	Running  int64 // leases of the channel, the same for its three lanes
	Begun    int64 // jobs ever claimed
	Attempts int64 // total of the channel, the same for its three lanes, like Faults
	Faults   int64 // attempts without success
}

// Depths holds the numbers of jobs on one shard, or on all shards.
type Depths struct {
	Lanes []Depth // in the order of job.Lanes
	Dead  int64   // failed and unknown jobs, for retryTask and operators
	Ends  int64   // finished jobs in the archive queue
}
