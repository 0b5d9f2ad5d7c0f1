package change

// The tables whose changes the pipeline understands. Topics and columns use exactly these spellings.
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

// The operations of the interface document, and two more that Debezium has.
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
	Before    []byte // row image, a JSON object; nil when absent or null
	After     []byte // row image, a JSON object; nil when absent or null
	Source    Source
	Tombstone bool // the empty message behind a delete; nothing else is set then
}

// Source is what Debezium says about where a change comes from. The zero value means that it said nothing.
type Source struct {
	TsMs     int64  // of the transaction, epoch milliseconds; whole seconds on MariaDB
	Snapshot string // "false", "true", "first", "last", "incremental", …
	File     string // binary log
	Pos      int64
}
