package labjson_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/labjson"
	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	cellcounterv1 "github.com/labplatform/labplatform/proto/gen/lab/cellcounter/v1"
)

func TestAnElementOfAStrictMessageIsStrict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, unknown string
		m             proto.Message
	}{
		{`{"observer":1,"counts":[{"cell_id":4,"number":55}]}`, "counts[0].number", &cellcounterv1.SaveCountRequest{}},
		{`{"mappings":[{"key":"a","cell_id":4,"in_total":false}]}`, "mappings[0].in_total", &cellcounterv1.MappingsBody{}},
		{`{"told_values":[{"lab_report_id":4,"told":"7.9"}],"is_draft":true}`, "told_values[0].told", &calloutv1.SaveCalloutRequest{}},
	} {
		want := c.unknown + " is not a field here; leave it out"
		if err := labjson.Unmarshal([]byte(c.body), c.m); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", c.body, err, want)
		}
	}
}
