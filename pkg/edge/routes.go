package edge

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Route is one documented path with its method.
type Route struct {
	Method, Path string
	RPC          string // full name of the gRPC method
	stream       bool   // responds with server-sent events
}

type routeTable []Route

// Routes returns every path of the contracts linked into this binary, and the areas' uploads and streams, sorted by
// path and method.
func Routes(all []*Area) []Route {
	var routes []Route
	for _, a := range all {
		for _, u := range a.Uploads {
			routes = append(routes, u.Route)
		}
		for _, s := range a.Streams {
			s.stream = true
			routes = append(routes, s.Route)
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "lab.") {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				routes = append(routes, bindings(service, service.Methods().Get(j))...)
			}
		}
		return true
	})
	slices.SortFunc(routes, func(a, b Route) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	return routes
}

func bindings(service protoreflect.ServiceDescriptor, method protoreflect.MethodDescriptor) []Route {
	rule, ok := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return nil
	}
	rpc := "/" + string(service.FullName()) + "/" + string(method.Name())
	var routes []Route
	for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		httpMethod, path := pattern(r)
		routes = append(routes, Route{Method: httpMethod, Path: path, RPC: rpc})
	}
	return routes
}

func pattern(r *annotations.HttpRule) (method, path string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return "GET", p.Get
	case *annotations.HttpRule_Post:
		return "POST", p.Post
	case *annotations.HttpRule_Put:
		return "PUT", p.Put
	case *annotations.HttpRule_Patch:
		return "PATCH", p.Patch
	case *annotations.HttpRule_Delete:
		return "DELETE", p.Delete
	}
	return "", ""
}

// methods returns the HTTP methods that path supports, sorted.
func (t routeTable) methods(path string) []string {
	var methods []string
	for _, r := range t {
		if matches(r.Path, path) && !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	if t.answersHead(path) {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return methods
}

// answersHead reports whether path responds to HEAD as to GET, without a body. Streams do not, because they would not
// end.
func (t routeTable) answersHead(path string) bool {
	read, ok := t.find(http.MethodGet, path)
	return ok && !read.stream
}

// find returns the route of a request. Literal paths come before patterns, as the mux prefers them.
func (t routeTable) find(method, path string) (Route, bool) {
	found, ok := Route{}, false
	for _, r := range t {
		if r.Method != method || !matches(r.Path, path) {
			continue
		}
		if !ok || strings.Count(r.Path, "{") < strings.Count(found.Path, "{") {
			found, ok = r, true
		}
	}
	return found, ok
}

func matches(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != got[i] {
			return false
		}
	}
	return true
}
