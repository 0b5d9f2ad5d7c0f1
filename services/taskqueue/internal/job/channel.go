package job

import (
	"fmt"
	"strings"
)

// Channel is a kind of delivery. Each channel has its own lanes, fetchers and handler.
type Channel uint8

// Channels, in the order of the lane character in job ids: append, never reorder.
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

// Channels returns all channels in lane order.
func Channels() []Channel {
	all := make([]Channel, channelCount)
	for i := range all {
		all[i] = Channel(i)
	}
	return all
}

// String returns the channel's name in keys, metrics and the outbox.
func (c Channel) String() string {
	if c < channelCount {
		return channelNames[c]
	}
	return fmt.Sprintf("channel(%d)", uint8(c))
}

// Priority orders the lanes of a channel. Higher priorities run first.
type Priority uint8

// Priorities, with the documented numbers.
const (
	Low      Priority = 0
	Moderate Priority = 1
	High     Priority = 2
)

const priorityCount = 3

// String returns the priority's name in metrics.
func (p Priority) String() string { return [...]string{"low", "moderate", "high"}[p%priorityCount] }

// Lane identifies the waiting jobs of a channel and priority. It exists on each shard.
type Lane struct {
	Channel  Channel
	Priority Priority
}

// Lanes returns all lanes.
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
