package grpcserver

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	typev1 "github.com/labplatform/labplatform/proto/gen/lab/type/v1"
)

// Callers returns the permitted callers of each method of the contracts linked into this binary, by full method name.
// The value is nil for a method without the option.
func Callers() map[string]*typev1.Callers {
	table := map[string]*typev1.Callers{}
	eachMethod(func(name string, method protoreflect.MethodDescriptor) {
		table[name], _ = proto.GetExtension(method.Options(), typev1.E_Callers).(*typev1.Callers)
	})
	return table
}

// eachMethod calls f for each method of the contracts linked into this binary, with its full name.
func eachMethod(f func(name string, method protoreflect.MethodDescriptor)) {
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "lab.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				f("/"+string(service.FullName())+"/"+string(method.Name()), method)
			}
		}
		return true
	})
}

var (
	errNotForUsers       = apperr.New(apperr.Forbidden, "SERVICES_ONLY", "Only services of the platform may call this.")
	errNotForInstruments = apperr.New(apperr.Forbidden, "PEOPLE_ONLY",
		"The token of an instrument's interface may not do this. Log in as a person.")
)

// admit returns a Forbidden error if the method's contract does not list the principal. For a service, the original
// caller counts, not the service that forwarded the call.
func (i *interceptors) admit(method string, p authn.Principal) error {
	callers := i.callers[method]
	switch {
	case p.Kind == authn.Service:
		list := callers.GetServices()
		if !slices.Contains(list, p.Caller) && !slices.Contains(list, i.further[p.Caller]) {
			return apperr.Newf(apperr.Forbidden, "CALLER_NOT_LISTED",
				"The service %q may not call this method. Its contract lists the callers; FURTHER_CALLERS adds one.", p.Caller)
		}
	case !callers.GetUsers():
		return errNotForUsers
	case p.IsInstrument() && !callers.GetInstrumentTokens():
		return errNotForInstruments
	}
	return nil
}
