package callout

import "strings"

// Limits are the bounds of a range as the database formats them; nil means no bound.
type Limits struct {
	Low, High, CriticalLow, CriticalHigh *string
	NormalTexts, CriticalTexts           []string
	Display                              string // text to print instead of the normal bounds
}

// Print formats the range for people.
func (l Limits) Print() Printed {
	p := Printed{Reference: l.Display, Critical: outside(number(l.CriticalLow), number(l.CriticalHigh))}
	if p.Reference == "" {
		p.Reference = within(number(l.Low), number(l.High))
	}
	if p.Reference == "" {
		p.Reference = strings.Join(l.NormalTexts, ", ")
	}
	if p.Critical == "" {
		p.Critical = strings.Join(l.CriticalTexts, ", ")
	}
	return p
}

func within(low, high string) string {
	switch {
	case low != "" && high != "":
		return low + " - " + high
	case low != "":
		return ">= " + low
	case high != "":
		return "<= " + high
	}
	return ""
}

func outside(low, high string) string {
	switch {
	case low != "" && high != "":
		return "< " + low + " or > " + high
	case low != "":
		return "< " + low
	case high != "":
		return "> " + high
	}
	return ""
}

// number removes trailing zeros from the text of a DECIMAL column.
func number(s *string) string {
	if s == nil {
		return ""
	}
	if !strings.Contains(*s, ".") {
		return *s
	}
	return strings.TrimSuffix(strings.TrimRight(*s, "0"), ".")
}
