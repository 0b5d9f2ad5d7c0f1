package bill

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/apperr"
)

// stepMark separates the order number of a bill from the number of the split.
const stepMark = "~"

// OrderStem returns the order number without the suffixes of splits: ORD-1 for ORD-1~2.
func OrderStem(order string) string {
	stem, step, found := cutLast(order)
	if !found || step <= 0 {
		return order
	}
	return stem
}

// maxOrder is the width of the column in characters.
const maxOrder = 64

// errOrderTooLong is returned if the column has no space for the suffix of another split.
var errOrderTooLong = apperr.New(apperr.Conflict, "ORDER_NUMBER_TOO_LONG",
	"The order number of this bill is too long for a further split; shorten it first")

// NextOrder returns the order number for the next split of a family: the highest number among its suffixes plus one.
// For a bill without an order number it returns "".
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

// OrderPrefix returns the common prefix of the order numbers of a family's bills, except the first.
func OrderPrefix(order string) string { return OrderStem(order) + stepMark }

func cutLast(order string) (stem string, step int, found bool) {
	i := strings.LastIndex(order, stepMark)
	if i < 0 {
		return order, 0, false
	}
	step, err := strconv.Atoi(order[i+len(stepMark):])
	return order[:i], step, err == nil
}
