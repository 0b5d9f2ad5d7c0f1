package edge

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/labjson"
)

// queryParser reads the parameters of a query and refuses names that resemble one of the request: who misspells a
// parameter must not be taken to have left it out.
type queryParser struct{ runtime.DefaultQueryParser }

var _ runtime.QueryParameterParser = (*queryParser)(nil)

// setQueryParser sets the parser once: the library keeps one for all muxes of the process.
var setQueryParser = sync.OnceFunc(func() { runtime.NewServeMux(runtime.SetQueryParameterParser(&queryParser{})) })

// Parse fills msg. The error's text is read by parameterError.
func (p *queryParser) Parse(msg proto.Message, values url.Values, filter *utilities.DoubleArray) error {
	fields := msg.ProtoReflect().Descriptor().Fields()
	var names []string
	for i := range fields.Len() {
		names = append(names, fields.Get(i).TextName(), fields.Get(i).JSONName()) // a query may use both
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if meant := labjson.Near(name, names); meant != "" {
			return fmt.Errorf("unknown parameter %q, written %q", name, meant)
		}
		if field := fields.ByTextName(name); len(values[name]) > 1 && field != nil && !field.IsList() {
			return fmt.Errorf("repeated parameter %q", name)
		}
	}
	return p.DefaultQueryParser.Parse(msg, values, filter)
}

// misspeltParameter and repeatedParameter match the errors of Parse.
var (
	misspeltParameter = regexp.MustCompile(`unknown parameter "([^"]*)", written "([^"]*)"`)
	repeatedParameter = regexp.MustCompile(`repeated parameter "([^"]*)"`)
)
