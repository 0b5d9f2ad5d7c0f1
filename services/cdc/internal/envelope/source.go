package envelope

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/labplatform/labplatform/services/cdc/internal/change"
)

// Image holds the columns of a source row needed by the materializer. Columns missing in the image are zero.
type Image struct {
	RowID     int64 // primary key
	UserID    int64 // the row's patient
	LabID     int64
	UpdatedOn time.Time
}

type sourceColumns struct {
	ID        *int64  `json:"id"`
	UserID    *int64  `json:"userDetailsId_id"`
	LabID     int64   `json:"labId_id"`
	UpdatedOn instant `json:"updatedOn"`
}

// Source decodes an image of userDetails, billing or labReportRelation. The error is a *Malformed.
func Source(table string, image []byte) (Image, error) {
	var c sourceColumns
	if err := json.Unmarshal(image, &c); err != nil {
		return Image{}, malformedColumn(err)
	}
	if table == change.UserDetails { // the row is the patient itself
		c.UserID = c.ID
	}
	if c.ID == nil {
		return Image{}, &Malformed{Part: "column id", What: "is missing"}
	}
	if c.UserID == nil {
		return Image{}, &Malformed{Part: "column userDetailsId_id", What: "is missing"}
	}
	return Image{RowID: *c.ID, UserID: *c.UserID, LabID: c.LabID, UpdatedOn: time.Time(c.UpdatedOn)}, nil
}

// Key returns the value of a record's key, which must be a single number. column is the name of the primary key. The
// error is a *Malformed.
func Key(r change.Record, column string) (int64, error) {
	if isNull(r.Key) {
		return 0, &Malformed{Part: "key", What: "is missing"}
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(r.Key, &members); err != nil {
		return 0, malformed("key", err)
	}
	if payload, wrapped := members["payload"]; wrapped {
		members = nil
		if err := json.Unmarshal(payload, &members); err != nil {
			return 0, malformed("key", err)
		}
	}
	var id *int64
	if v := members[column]; v != nil {
		if err := json.Unmarshal(v, &id); err != nil {
			return 0, &Malformed{Part: "key", What: "has a " + column + " that is no number"}
		}
	}
	if id == nil {
		return 0, &Malformed{Part: "key", What: "lacks " + column}
	}
	return *id, nil
}

// instant is a DATETIME as formatted by the connector with time.precision.mode=isostring.
type instant time.Time

var _ json.Unmarshaler = (*instant)(nil)

func (i *instant) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil || s == "" {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return errColumn("is no time of the form 2006-01-02T15:04:05.999999Z")
	}
	*i = instant(t)
	return nil
}
