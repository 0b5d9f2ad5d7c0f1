package connect

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// What an error of this package can be asked for with errors.Is. Any other one passes by itself or not: no one knows.
var (
	ErrUnknown = errors.New("no such connector") // 404
	ErrBusy    = errors.New("the workers are rebalancing; try again in a moment")
)

// Invalid is a configuration that the runtime refuses. It also asks the database, so that one that is unavailable
// counts.
type Invalid struct{ Problems []string }

// Error lists the problems.
func (i *Invalid) Error() string {
	return "the configuration is refused: " + strings.Join(i.Problems, "; ")
}

// refused turns an answer into an error.
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

// problems takes the runtime's list apart: a first line that counts, a line for each, and a last one that refers to
// another endpoint. Any other message is one problem.
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

// withoutSecrets: some messages repeat the whole configuration.
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
