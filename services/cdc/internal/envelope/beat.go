package envelope

import "github.com/go-json-experiment/json"

// Beat decodes a row image of cdc_heartbeat: the row's id and the time of the heartbeat in epoch milliseconds. The
// error is a *Malformed.
func Beat(image []byte) (id string, beatAt int64, err error) {
	var c struct {
		ID     string `json:"id"`
		BeatAt *int64 `json:"beat_at"`
	}
	if err := json.Unmarshal(image, &c); err != nil {
		return "", 0, malformedColumn(err)
	}
	if c.ID == "" || c.BeatAt == nil {
		return "", 0, &Malformed{Part: "after", What: "lacks id or beat_at"}
	}
	return c.ID, *c.BeatAt, nil
}
