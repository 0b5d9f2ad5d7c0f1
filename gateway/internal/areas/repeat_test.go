package areas_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/labplatform/labplatform/gateway/internal/areas"
	"github.com/labplatform/labplatform/pkg/edge"
)

// Clients repeat and hedge calls by the idempotency level of the RPC, and requests by the HTTP method. The two must
// agree.
func TestContractsSayWhichCallsMayBeRepeated(t *testing.T) {
	t.Parallel()
	for _, route := range edge.Routes(areas.List()) {
		name := strings.ReplaceAll(strings.TrimPrefix(route.RPC, "/"), "/", ".")
		method, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		options, _ := method.Options().(*descriptorpb.MethodOptions)
		level := options.GetIdempotencyLevel()
		wrong := map[string]bool{
			"GET":    level != descriptorpb.MethodOptions_NO_SIDE_EFFECTS,
			"PUT":    level != descriptorpb.MethodOptions_IDEMPOTENT,
			"DELETE": level != descriptorpb.MethodOptions_IDEMPOTENT,
		}
		if wrong[route.Method] {
			t.Errorf("%s is %s, and %s on %s: a PUT and a DELETE are IDEMPOTENT, a GET has NO_SIDE_EFFECTS", name, level, route.Method, route.Path)
		}
	}
}
