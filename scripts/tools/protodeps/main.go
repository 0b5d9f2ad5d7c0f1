// Command protodeps writes the third-party .proto files that the contracts import into a folder.
//
// It prints them from the descriptors linked into this binary. So their versions are those of go.sum, nothing is
// vendored, and buf reads exactly what the Go programs link.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
)

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: protodeps FOLDER\n\nWrites the .proto files that our contracts import into FOLDER.")
		os.Exit(2)
	}
	n, err := printAll(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "protodeps:", err)
		os.Exit(1)
	}
	fmt.Printf("protodeps: %d files\n", n)
}

func printAll(folder string) (n int, err error) {
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(fd.Path(), "google/protobuf/") { // buf has these built in
			return true
		}
		err = printFile(folder, fd)
		n++
		return err == nil
	})
	return n, err
}

func printFile(folder string, fd protoreflect.FileDescriptor) (err error) {
	path := filepath.Join(folder, filepath.FromSlash(fd.Path()))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	printer := protoprint.Printer{}
	return printer.PrintProtoFile(fd, f)
}
