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

// maxLibraryBytes caps one line, because libraries quote data of callers.
const maxLibraryBytes = 512

// libraries is the logger for messages of libraries. It writes to standard error until Start replaces it with the
// process's logger.
var libraries atomic.Pointer[slog.Logger]

// gRPC reads its logger without a lock, so it is set before anything runs and forwards to the current logger.
func init() {
	libraries.Store(newLogger("", Config{LogLevel: slog.LevelWarn, LogJSON: true}, os.Stderr))
	grpclog.SetLoggerV2(grpcLogger{})
}

// adoptLibraries sends the log messages of libraries to logger: gRPC, grpc-gateway, net/http, and all users of package
// log or of slog's default logger. It does nothing if w is not a file, because w is then a test's, and other tests
// share the process.
func adoptLibraries(logger *slog.Logger, w io.Writer) {
	if _, own := w.(*os.File); !own {
		return
	}
	libraries.Store(logger)
	slog.SetDefault(logger) // also redirects package log, so it comes first
	log.SetFlags(0)
	log.SetOutput(standardLogger{})
}

// say logs a library's message as an error attribute, so that values and callers' bytes in it are redacted.
func say(level slog.Level, library, words string) {
	words = strings.TrimSpace(words)
	if len(words) > maxLibraryBytes {
		words = strings.ToValidUTF8(words[:maxLibraryBytes], "") + "…"
	}
	libraries.Load().Log(context.Background(), level, "library message", "library", library, "error", words)
}

// standardLogger receives the lines of package log.
type standardLogger struct{}

var _ io.Writer = (*standardLogger)(nil)

func (standardLogger) Write(line []byte) (int, error) {
	say(slog.LevelWarn, "log", string(line))
	return len(line), nil
}

// grpcLogger receives the lines of gRPC and grpc-gateway. Their warnings repeat errors that calls return, so they are
// logged at level debug.
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

// masked returns the arguments of a message without texts, which come from callers, such as a header or path.
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

// V returns false, which turns off gRPC's verbose messages.
func (grpcLogger) V(int) bool { return false }
