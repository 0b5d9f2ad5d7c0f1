package connect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Errors for use with errors.Is. Any other error may be temporary or permanent.
var (
	ErrUnknown = errors.New("no such connector") // HTTP status 404
	ErrBusy    = errors.New("the workers are rebalancing; try again in a moment")
)

// Invalid is the error for a configuration that the runtime rejects. The validation queries the database, so an
// unavailable database also causes this error.
type Invalid struct{ Problems []string }

func (i *Invalid) Error() string {
	return "the configuration is refused: " + strings.Join(i.Problems, "; ")
}

// refused returns the error for an error response.
func refused(status int, body []byte) error {
	var answer struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Message == "" {
		answer.Message = "no explanation"
	}
	switch status {
	case http.StatusNotFound:
		return fmt.Errorf("%w: %s", ErrUnknown, answer.Message)
	case http.StatusConflict:
		return fmt.Errorf("%w: %s", ErrBusy, answer.Message)
	case http.StatusBadRequest:
		return &Invalid{Problems: problems(answer.Message)}
	default:
		return fmt.Errorf("kafka connect answers %d: %s", status, answer.Message)
	}
}

// problems splits the runtime's list of problems: a first line with their number, one line each, and a last line that
// refers to another endpoint. Any other message counts as one problem.
func problems(message string) []string {
	if !strings.HasPrefix(message, "Connector configuration is invalid") {
		return []string{message}
	}
	var list []string
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "Connector configuration is invalid") ||
			strings.HasPrefix(line, "You can also find") {
			continue
		}
		list = append(list, line)
	}
	if len(list) == 0 {
		return []string{message}
	}
	return list
}

// withoutSecrets removes secret values from an error, because some messages repeat the whole configuration.
func withoutSecrets(err error, configuration map[string]string) error {
	text := err.Error()
	for key, value := range configuration {
		if value != "" &&
			(strings.Contains(key, "password") || strings.Contains(key, "secret") || strings.Contains(key, "jaas")) {
			text = strings.ReplaceAll(text, value, "***")
		}
	}
	if text == err.Error() {
		return err
	}
	var invalid *Invalid
	if errors.As(err, &invalid) {
		return &Invalid{Problems: []string{strings.TrimPrefix(text, "the configuration is refused: ")}}
	}
	return errors.New(text)
}
