package mysql

import (
	"encoding/json"

	"github.com/labplatform/labplatform/services/notifications/internal/notification"
)

// messageOf parses the column message. An invalid message is empty, because it must not hide the rest of the inbox.
func messageOf(document []byte) notification.Message {
	var m notification.Message
	if json.Unmarshal(document, &m) != nil {
		m = notification.Message{}
	}
	if len(m.Data) == 0 || string(m.Data) == "null" {
		m.Data = json.RawMessage("{}")
	}
	return m
}
