package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/XSAM/otelsql"
	"github.com/go-sql-driver/mysql"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// spanOptions create spans within a trace only, because statements of background loops belong to no request. An error's
// text is left out, because the server quotes values in it.
var spanOptions = otelsql.SpanOptions{
	OmitConnResetSession: true, OmitRows: true, DisableErrSkip: true,
	RecordError: func(error) bool { return false },
	SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
		return trace.SpanContextFromContext(ctx).IsValid()
	},
}

var statement = regexp.MustCompile("(?is)^\\s*([a-z]+)(?:.*?\\b(?:from|into|update)\\s+`?([a-z0-9_]+))?")

// summary returns the verb and the first table of a statement: SELECT labReportRelation.
func summary(query string) string {
	parts := statement.FindStringSubmatch(query)
	if parts == nil {
		return ""
	}
	verb, table := strings.ToUpper(parts[1]), parts[2]
	if verb == "UPDATE" {
		if words := strings.Fields(query); len(words) > 1 {
			table = strings.Trim(words[1], "`")
		}
	}
	return strings.TrimSpace(verb + " " + table)
}

func spanName(_ context.Context, method otelsql.Method, query string) string {
	if s := summary(query); s != "" {
		return s
	}
	return string(method)
}

func summarized(_ context.Context, _ otelsql.Method, query string, _ []driver.NamedValue) []attribute.KeyValue {
	s := summary(query)
	if s == "" {
		return nil
	}
	verb, _, _ := strings.Cut(s, " ")
	return []attribute.KeyValue{semconv.DBQuerySummary(s), semconv.DBOperationName(verb)}
}

// errorNumber returns the server's error number as an attribute.
func errorNumber(err error) []attribute.KeyValue {
	var failure *mysql.MySQLError
	if errors.As(err, &failure) {
		return []attribute.KeyValue{semconv.DBResponseStatusCode(strconv.Itoa(int(failure.Number)))}
	}
	return nil
}
