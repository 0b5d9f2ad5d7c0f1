package ranking

import (
	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

// place describes a part of a field whose index field differs between layouts.
type place struct {
	base, part string
	ofAll      string // name of the part in the shared index field, which contains the values of all fields of this kind
	phone      bool   // part of a telephone number; otherwise of an identifier or e-mail address
	alone      string // for telephone numbers: name of the part if only this field is searched
}

// movable maps the field names used in queries to places.
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
