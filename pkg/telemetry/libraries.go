package telemetry

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc/grpclog"
)

// maxLibraryBytes caps one line: libraries quote what a caller sent.
const maxLibraryBytes = 512

// libraries is where the words of libraries go that have a logger of their own. It starts with standard error and
// becomes the logger of the process in Start.
var libraries atomic.Pointer[slog.Logger]

// gRPC reads its logger without a lock, so it is set before anything else runs and forwards for ever.
func init() {
	libraries.Store(newLogger("", Config{LogLevel: slog.LevelWarn, LogJSON: true}, os.Stderr))
	grpclog.SetLoggerV2(grpcLogger{})
}

// adoptLibraries gives gRPC, grpc-gateway, net/http and drivers, which print to the standard logger, a home in
// the process's log. A writer that is no file belongs to a test, one of several in its process: it adopts nothing.
func adoptLibraries(logger *slog.Logger, w io.Writer) {
	if _, own := w.(*os.File); !own {
		return
	}
	libraries.Store(logger)
	log.SetFlags(0)
	log.SetOutput(standardLogger{})
}

// say logs a library's words as an error: they quote values, and callers' bytes.
func say(level slog.Level, library, words string) {
	words = strings.TrimSpace(words)
	if len(words) > maxLibraryBytes {
		words = strings.ToValidUTF8(words[:maxLibraryBytes], "") + "…"
	}
	libraries.Load().Log(context.Background(), level, "a library reports", "library", library, "error", words)
}

// standardLogger takes the lines of package log.
type standardLogger struct{}

var _ io.Writer = (*standardLogger)(nil)

func (standardLogger) Write(line []byte) (int, error) {
	say(slog.LevelWarn, "log", string(line))
	return len(line), nil
}

// grpcLogger takes the lines of gRPC and grpc-gateway. Its warnings repeat what calls report as errors.
type grpcLogger struct{}

func (grpcLogger) Info(...any)           {}
func (grpcLogger) Infoln(...any)         {}
func (grpcLogger) Infof(string, ...any)  {}
func (grpcLogger) Warning(args ...any)   { say(slog.LevelDebug, "grpc", fmt.Sprint(args...)) }
func (grpcLogger) Warningln(args ...any) { say(slog.LevelDebug, "grpc", fmt.Sprintln(args...)) }
func (grpcLogger) Warningf(f string, args ...any) {
	say(slog.LevelDebug, "grpc", fmt.Sprintf(f, masked(args)...))
}
func (grpcLogger) Error(args ...any)   { say(slog.LevelWarn, "grpc", fmt.Sprint(args...)) }
func (grpcLogger) Errorln(args ...any) { say(slog.LevelWarn, "grpc", fmt.Sprintln(args...)) }
func (grpcLogger) Errorf(f string, args ...any) {
	say(slog.LevelWarn, "grpc", fmt.Sprintf(f, masked(args)...))
}
func (grpcLogger) Fatal(args ...any)   { say(slog.LevelError, "grpc", fmt.Sprint(args...)) }
func (grpcLogger) Fatalln(args ...any) { say(slog.LevelError, "grpc", fmt.Sprintln(args...)) }
func (grpcLogger) Fatalf(f string, args ...any) {
	say(slog.LevelError, "grpc", fmt.Sprintf(f, masked(args)...))
}

// masked are the values of a library's sentence without texts: they are what a caller sent, a header or a path.
func masked(args []any) []any {
	clean := slices.Clone(args)
	for i, arg := range clean {
		switch arg.(type) {
		case string, []byte:
			clean[i] = "…"
		}
	}
	return clean
}

// V reports whether gRPC should describe its own steps: never.
func (grpcLogger) V(int) bool { return false }
