package connect

import (
	"slices"
	"strings"
)

// States of connectors and tasks.
const (
	Running    = "RUNNING"
	Paused     = "PAUSED"
	Stopped    = "STOPPED"
	Failed     = "FAILED"
	Restarting = "RESTARTING"
)

// Status is the state of a connector in the runtime. The connector stays RUNNING if a task fails.
type Status struct {
	Name      string `json:"name"`
	Connector Part   `json:"connector"`
	Tasks     []Task `json:"tasks"`
}

// Part is the state of a connector itself or of one of its tasks.
type Part struct {
	State  string `json:"state"`
	Worker string `json:"worker_id"`
	Trace  string `json:"trace"` // Java stack trace of a failed part; it may contain values of rows, so never log it
}

// Task is the state of one task of a connector.
type Task struct {
	ID int `json:"id"`
	Part
}

// Up reports whether changes are captured: the connector runs and has tasks, all of which run.
func (s Status) Up() bool {
	for _, task := range s.Tasks {
		if task.State != Running {
			return false
		}
	}
	return s.Connector.State == Running && len(s.Tasks) > 0
}

// Held reports whether an operator has stopped or paused the connector.
func (s Status) Held() bool { return s.Connector.State == Stopped || s.Connector.State == Paused }

// Causes returns the classes of the exceptions in a stack trace, the outermost first, without packages and messages.
// Nothing else of a trace may be logged.
func Causes(trace string) []string {
	var classes []string
	for line := range strings.Lines(trace) {
		cause, isCause := strings.CutPrefix(strings.TrimSpace(line), "Caused by: ")
		if !isCause && len(classes) > 0 {
			continue
		}
		class, _, _ := strings.Cut(cause, ":")
		class = strings.TrimSpace(class)
		if dot := strings.LastIndexByte(class, '.'); dot > 0 && isClass(class[dot+1:]) { // class names include a package
			classes = append(classes, class[dot+1:])
		}
	}
	return classes
}

// lost are texts in traces of position failures, which restarts cannot fix: the binary log no longer has the
// connector's position, it was empty when the connector started, or the schema history is lost.
var lost = []string{
	"this is no longer available on the server", `"this.gtidSet" is null`,
	"The db history topic or its content is fully or partially missing", "The db history topic is missing",
}

// structure are texts in traces of schema failures, which restarts cannot fix: the connector's grammar cannot parse a
// statement, or its stored table structure does not match the rows. After a restart it continues a full resync before
// it reads the binary log, so it does not reach the statement that added a column.
var structure = []string{
	"schema isn't known to this connector", "internal schema size", "Data row is smaller than a column index",
	"not found in result set",
	"ParsingException", "at io.debezium.connector.mariadb.antlr.", "at io.debezium.connector.mysql.antlr.",
	"at io.debezium.connector.binlog.jdbc.BinlogDatabaseSchema.parse",
}

// LostPosition reports whether, according to a trace, the connector has to start at a new position.
func LostPosition(trace string) bool { return holds(trace, lost) }

// LostStructure reports whether, according to a trace, the connector has to read the table structures again, which it
// does when it starts at a new position.
func LostStructure(trace string) bool { return holds(trace, structure) }

func holds(trace string, list []string) bool {
	return slices.ContainsFunc(list, func(words string) bool { return strings.Contains(trace, words) })
}

func isClass(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '$' && c != '_' {
			return false
		}
	}
	return name != ""
}
