package bill

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// stepMark is between the order number of a bill and the number of the split.
const stepMark = "~"

// OrderStem is the order number without the steps of splits: ORD-1 of ORD-1~2.
func OrderStem(order string) string {
	stem, step, found := cutLast(order)
	if !found || step <= 0 {
		return order
	}
	return stem
}

// maxOrder is the width of the column, in characters.
const maxOrder = 64

// errOrderTooLong names what a person can change.
var errOrderTooLong = apperr.New(apperr.Conflict, "ORDER_NUMBER_TOO_LONG",
	"The order number of this bill is too long for a further split; shorten it first")

// NextOrder is the order number after those of a family: the highest step of all of them and one. A bill without an
// order number has none to give.
func NextOrder(order string, family []string) (string, error) {
	stem := OrderStem(order)
	if stem == "" {
		return "", nil
	}
	highest := 0
	for _, relative := range append(family, order) {
		if s, step, found := cutLast(relative); found && s == stem {
			highest = max(highest, step)
		}
	}
	next := stem + stepMark + strconv.Itoa(highest+1)
	if utf8.RuneCountInString(next) > maxOrder {
		return "", errOrderTooLong
	}
	return next, nil
}

// OrderPrefix is what all but the first of the family's order numbers begin with.
func OrderPrefix(order string) string { return OrderStem(order) + stepMark }

func cutLast(order string) (stem string, step int, found bool) {
	i := strings.LastIndex(order, stepMark)
	if i < 0 {
		return order, 0, false
	}
	step, err := strconv.Atoi(order[i+len(stepMark):])
	return order[:i], step, err == nil
}
