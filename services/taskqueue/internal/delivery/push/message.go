// Package push delivers push tasks through FCM's HTTP v1 API: it renders the message, sends one request per token, and
// combines the results. Authentication and the classification of responses are in package fcm.
package push

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Types of FCM's HTTP v1 message, with the fields used by the documented payload.
type envelope struct {
	Message message `json:"message"`
}

type message struct {
	Token        string            `json:"token,omitempty"`
	Topic        string            `json:"topic,omitempty"`
	Notification *notification     `json:"notification,omitempty"`
	Data         map[string]string `json:"data,omitempty"`
	Android      *android          `json:"android,omitempty"`
}

type notification struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Image string `json:"image,omitempty"`
}

type android struct {
	Priority     string    `json:"priority,omitempty"`
	TTL          string    `json:"ttl,omitempty"`
	CollapseKey  string    `json:"collapse_key,omitempty"`
	Notification *clickTap `json:"notification,omitempty"`
}

type clickTap struct {
	ClickAction string `json:"click_action,omitempty"`
}

// Render returns the request body for one token or, if token is empty, for the topic.
func Render(d *task.Push, token string) ([]byte, error) {
	m := message{Token: token, Data: d.Data, Android: androidOf(d)}
	if token == "" {
		m.Topic = strings.TrimPrefix(d.Topic, "/topics/")
	}
	if d.Title != "" || d.Body != "" || d.Image != "" {
		m.Notification = &notification{Title: d.Title, Body: d.Body, Image: d.Image}
	}
	raw, err := json.Marshal(envelope{Message: m})
	if err != nil {
		return nil, fmt.Errorf("encode the push message: %w", err)
	}
	return raw, nil
}

func androidOf(d *task.Push) *android {
	a := android{Priority: d.Priority, CollapseKey: d.CollapseKey}
	if d.TTL != nil {
		a.TTL = fmt.Sprintf("%ds", *d.TTL)
	}
	if d.ClickAction != "" {
		a.Notification = &clickTap{ClickAction: d.ClickAction}
	}
	if a == (android{}) {
		return nil
	}
	return &a
}
