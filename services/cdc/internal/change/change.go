package change

// Tables whose changes are processed, spelled as in topics and columns.
const (
	UserDetails       = "userDetails"
	Billing           = "billing"
	LabReportRelation = "labReportRelation"
	UserMeta          = "user_meta"
	Heartbeat         = "cdc_heartbeat"
	Signal            = "cdc_signal"
)

// Op is the operation of an envelope.
type Op string

// Operations of the API document, and Debezium's truncate and message.
const (
	Read     Op = "r" // a row of a snapshot
	Create   Op = "c"
	Update   Op = "u"
	Delete   Op = "d"
	Truncate Op = "t"
	Message  Op = "m"
)

// Change is one decoded envelope.
type Change struct {
	Table     string
	Op        Op
	Before    []byte // row image, a JSON object; nil if absent or null
	After     []byte // row image, a JSON object; nil if absent or null
	Source    Source
	Tombstone bool // the empty message after a delete; all other fields are then empty
}

// Source is the origin of a change as Debezium reports it, or zero if it reports none.
type Source struct {
	TsMs     int64  // time of the transaction, epoch milliseconds; whole seconds on MariaDB
	Snapshot string // "false", "true", "first", "last", "incremental", …
	File     string // name of the binary log file
	Pos      int64
}
