package ranking

import (
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// place is a part of a field that not every layout holds under the name by which queries ask for it.
type place struct {
	base, part string
	ofAll      string // its name in what holds the values of all such fields
	phone      bool   // of a telephone number; else of an identifier or an address
	alone      string // of a telephone number: its name where the field is compared alone
}

// movable are these places by the names that queries ask for.
var movable = movableOf()

func movableOf() map[string]place {
	m := map[string]place{}
	for _, f := range table {
		switch f.Kind() {
		case search.Phone:
			for part, held := range map[string]string{"": "", "prefix": "prefix", "suffix": "ends", "middle": "ends"} {
				m[joinPart(string(f), part)] = place{
					base: string(f), part: part, phone: true,
					alone: joinPart(string(f), held),
					ofAll: joinPart(userindex.Phones, held),
				}
			}
		case search.Identifier, search.Segmented, search.Mail:
			in := map[string]string{"": userindex.Whole, "prefix": wholePrefix, "segment": userindex.Segments}
			for part, held := range in {
				m[joinPart(string(f), part)] = place{base: string(f), part: part, ofAll: held}
			}
		}
	}
	return m
}

const wholePrefix = userindex.Whole + ".prefix"

func joinPart(base, part string) string {
	if part == "" {
		return base
	}
	return base + "." + part
}
