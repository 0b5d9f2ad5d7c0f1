package job

import (
	"fmt"
	"strings"
)

// Channel is the kind of delivery. Each has its own lanes, pump and handler.
type Channel uint8

// The channels. Their order is part of the job id (the lane character): append, never reorder.
const (
	SMS Channel = iota
	Email
	Push
	Webhook
	WhatsApp
	Callback
	Mapping
	channelCount
)

var channelNames = [channelCount]string{"sms", "email", "push", "webhook", "whatsapp", "callback", "mapping"}

// Channels lists every channel in lane order.
func Channels() []Channel {
	all := make([]Channel, channelCount)
	for i := range all {
		all[i] = Channel(i)
	}
	return all
}

// String is the channel's name in keys, metrics and the outbox.
func (c Channel) String() string {
	if c < channelCount {
		return channelNames[c]
	}
	return fmt.Sprintf("channel(%d)", uint8(c))
}

// Priority orders the lanes of one channel; a larger one runs first.
type Priority uint8

// The documented priorities.
const (
	Low      Priority = 0
	Moderate Priority = 1
	High     Priority = 2
)

const priorityCount = 3

// String is the priority's name in metrics.
func (p Priority) String() string { return [...]string{"low", "moderate", "high"}[p%priorityCount] }

// Lane is one queue: a channel at a priority.
type Lane struct {
	Channel  Channel
	Priority Priority
}

// Lanes lists every lane.
func Lanes() []Lane {
	all := make([]Lane, 0, int(channelCount)*priorityCount)
	for _, c := range Channels() {
		for p := Low; p <= High; p++ {
			all = append(all, Lane{Channel: c, Priority: p})
		}
	}
	return all
}

const laneLetters = "0123456789abcdefghijklmnopqrstuvwxyz"

func (l Lane) letter() byte { return laneLetters[int(l.Channel)*priorityCount+int(l.Priority)] }

func laneOf(letter byte) (Lane, bool) {
	i := strings.IndexByte(laneLetters[:channelCount*priorityCount], letter)
	if i < 0 {
		return Lane{}, false
	}
	return Lane{Channel: Channel(i / priorityCount), Priority: Priority(i % priorityCount)}, true
}
