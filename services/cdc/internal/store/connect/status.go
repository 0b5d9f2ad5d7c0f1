package connect

import (
	"slices"
	"strings"
)

// The states of a connector and of a task.
const (
	Running    = "RUNNING"
	Paused     = "PAUSED"
	Stopped    = "STOPPED"
	Failed     = "FAILED"
	Restarting = "RESTARTING"
)

// Status is what the runtime says about a connector. A task that failed leaves the connector RUNNING.
type Status struct {
	Name      string `json:"name"`
	Connector Part   `json:"connector"`
	Tasks     []Task `json:"tasks"`
}

// Part is the state of the connector itself or of a task.
type Part struct {
	State  string `json:"state"`
	Worker string `json:"worker_id"`
	Trace  string `json:"trace"` // of a failed one: a Java stack trace, which may quote rows: never log it
}

// Task is one task of a connector.
type Task struct {
	ID int `json:"id"`
	Part
}

// Up reports whether changes flow: the connector runs, has tasks, and all of them run.
func (s Status) Up() bool {
	for _, task := range s.Tasks {
		if task.State != Running {
			return false
		}
	}
	return s.Connector.State == Running && len(s.Tasks) > 0
}

// Held reports whether an operator stopped or paused the connector.
func (s Status) Held() bool { return s.Connector.State == Stopped || s.Connector.State == Paused }

// Causes returns the classes of the exceptions in a stack trace, the outermost first, without their packages and
// messages: what a log may say about it.
func Causes(trace string) []string {
	var classes []string
	for line := range strings.Lines(trace) {
		cause, isCause := strings.CutPrefix(strings.TrimSpace(line), "Caused by: ")
		if !isCause && len(classes) > 0 {
			continue
		}
		class, _, _ := strings.Cut(cause, ":")
		class = strings.TrimSpace(class)
		if dot := strings.LastIndexByte(class, '.'); dot > 0 && isClass(class[dot+1:]) { // one without a package is no class
			classes = append(classes, class[dot+1:])
		}
	}
	return classes
}

// lost are words of traces that no restart fixes: the binary log does not hold any more what the connector wants to
// read next, it was empty when the connector began, or what is known of the tables' structure is lost.
var lost = []string{
	"this is no longer available on the server", `"this.gtidSet" is null`,
	"The db history topic or its content is fully or partially missing", "The db history topic is missing",
}

// structure are words of traces that no restart fixes either: the connector met a statement that its grammar cannot
// read, and what it knows of a table is no longer what its rows are.
var structure = []string{
	"schema isn't known to this connector", "internal schema size", "Data row is smaller than a column index",
	"ParsingException", "at io.debezium.connector.mariadb.antlr.", "at io.debezium.connector.mysql.antlr.",
	"at io.debezium.connector.binlog.jdbc.BinlogDatabaseSchema.parse",
}

// LostPosition tells from a trace that the connector can only begin at a new place.
func LostPosition(trace string) bool { return holds(trace, lost) }

// LostStructure tells from a trace that the connector has to read the structure of the tables again, which it does when
// it begins at a new place.
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
