package rendered

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/labplatform/labplatform/services/taskqueue/internal/outbox"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

const (
	gsmBasic    = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtended = "\f^{}\\[~]|€" // two septets each
)

// Segments tells how an SMS travels: its encoding, its length in units and the number of parts.
func Segments(text string) (encoding string, units, parts int) {
	units = 0
	for _, c := range text {
		switch {
		case strings.ContainsRune(gsmBasic, c):
			units++
		case strings.ContainsRune(gsmExtended, c):
			units += 2
		default:
			units = len(utf16.Encode([]rune(text)))
			return "UCS-2", units, split(units, 70, 67)
		}
	}
	return "GSM-7", units, split(units, 160, 153)
}

func split(units, single, multi int) int {
	if units <= single {
		return 1
	}
	return (units + multi - 1) / multi
}

func renderSMS(data []byte) (outbox.Message, error) {
	var d task.SMS
	if err := json.Unmarshal(data, &d); err != nil {
		return outbox.Message{}, err
	}
	encoding, units, parts := Segments(d.Message)
	m := outbox.Message{To: []string{international(d.CountryCode, d.Contact)}, Title: "SMS", Body: d.Message, Format: "text",
		Notes: []string{fmt.Sprintf("%s, %d units, %d segments", encoding, units, parts)}}
	if d.SenderID != "" {
		m.Headers = append(m.Headers, outbox.Header{Name: "Sender", Value: d.SenderID})
	}
	return m, nil
}

// international writes a number with its country code; a national leading zero is dropped only with a code.
func international(country, number task.Digits) string {
	if country == "" {
		return "+" + string(number)
	}
	return "+" + string(country) + string(number)
}
