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

// queryParser reads the parameters of a query. It rejects an unknown name that resembles a field of the request,
// because a misspelt parameter would otherwise count as missing, and a repeated parameter that is no list.
type queryParser struct{ runtime.DefaultQueryParser }

var _ runtime.QueryParameterParser = (*queryParser)(nil)

// setQueryParser sets the parser once, because the library has one for all muxes of the process.
var setQueryParser = sync.OnceFunc(func() { runtime.NewServeMux(runtime.SetQueryParameterParser(&queryParser{})) })

// Parse fills msg. parameterError reads the text of its errors.
func (p *queryParser) Parse(msg proto.Message, values url.Values, filter *utilities.DoubleArray) error {
	fields := msg.ProtoReflect().Descriptor().Fields()
	var names []string
	for i := range fields.Len() {
		names = append(names, fields.Get(i).TextName(), fields.Get(i).JSONName()) // a query may use either name
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
