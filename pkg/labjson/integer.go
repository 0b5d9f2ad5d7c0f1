package labjson

// parseInteger returns the exact value of a JSON number: 2.0 and 1e2 are whole, 1.5 is not. fits is false if a whole
// number has more than 18 digits. lit must follow the JSON grammar.
func parseInteger(lit []byte) (n int64, whole, fits bool) {
	negative := lit[0] == '-'
	if negative {
		lit = lit[1:]
	}
	if n, ok := shortDigits(lit); ok {
		return signed(n, negative), true, true
	}
	digits, exponent := significant(lit)
	if len(digits) == 0 {
		return 0, true, true
	}
	if exponent < 0 {
		return 0, false, false
	}
	const maxDigits = 18 // 18 digits always fit into an int64; larger numbers are out of every range here
	if exponent > maxDigits || len(digits)+exponent > maxDigits {
		return 0, true, false
	}
	n, _ = shortDigits(digits)
	for range exponent {
		n *= 10
	}
	return signed(n, negative), true, true
}

func signed(n int64, negative bool) int64 {
	if negative {
		return -n
	}
	return n
}

// shortDigits parses a text of at most 18 digits; ok is false for any other text.
func shortDigits(lit []byte) (int64, bool) {
	if len(lit) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range lit {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// significant returns the digits of an unsigned number without leading and trailing zeros, and the power of ten of the
// last digit.
func significant(lit []byte) (digits []byte, exponent int) {
	i := 0
	fraction := 0
	dot := false
	for ; i < len(lit) && lit[i]|0x20 != 'e'; i++ {
		if lit[i] == '.' {
			dot = true
			continue
		}
		if dot {
			fraction++
		}
		if len(digits) > 0 || lit[i] != '0' {
			digits = append(digits, lit[i])
		}
	}
	if i < len(lit) {
		exponent = boundedInt(lit[i+1:])
	}
	exponent -= fraction
	for n := len(digits); n > 0 && digits[n-1] == '0'; n-- {
		digits = digits[:n-1]
		exponent++
	}
	return digits, exponent
}

// boundedInt parses a signed exponent. It stops at a bound far above the number of zeros that a body can contain.
func boundedInt(lit []byte) int {
	const enough = 1 << 40
	negative := lit[0] == '-'
	if negative || lit[0] == '+' {
		lit = lit[1:]
	}
	n := 0
	for _, c := range lit {
		if n < enough {
			n = n*10 + int(c-'0')
		}
	}
	if negative {
		return -n
	}
	return n
}
