package envelope

import (
	"time"

	"github.com/go-json-experiment/json"

	"github.com/labplatform/labplatform/services/cdc/internal/projection"
)

// userMeta is an image of user_meta. It redefines the columns of a row that are mandatory or specially encoded by the
// connector. Before the second migration, the image lacks the person's columns, which are then empty.
type userMeta struct {
	projection.Row

	UserID      *int64 `json:"user_id"`
	LabID       *int64 `json:"lab_id"`
	Rev         *int64 `json:"rev"`
	DateOfBirth date   `json:"date_of_birth"`
	IsDeleted   int64  `json:"is_deleted"`
}

// UserMeta decodes an image of user_meta. Unknown columns are ignored, because a later migration may have added them.
// The error is a *Malformed.
func UserMeta(image []byte) (projection.Row, error) {
	var m userMeta
	if err := json.Unmarshal(image, &m, lists); err != nil {
		return projection.Row{}, malformedColumn(err)
	}
	for column, id := range map[string]*int64{"user_id": m.UserID, "lab_id": m.LabID, "rev": m.Rev} {
		if id == nil {
			return projection.Row{}, &Malformed{Part: column, What: "is missing"}
		}
	}
	row := m.Row
	row.UserID, row.LabID, row.Rev = *m.UserID, *m.LabID, *m.Rev
	row.DateOfBirth, row.IsDeleted = string(m.DateOfBirth), m.IsDeleted != 0
	return row, nil
}

// date is a DATE as the connector encodes it (2024-02-29Z), stored without the Z.
type date string

var _ json.Unmarshaler = (*date)(nil)

func (d *date) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil || s == "" { // null leaves s empty
		*d = ""
		return err
	}
	if n := len(s) - 1; s[n] == 'Z' {
		s = s[:n]
	}
	if _, err := time.Parse(time.DateOnly, s); err != nil {
		return errColumn("is no date")
	}
	*d = date(s)
	return nil
}
