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
	for body, m := range map[string]proto.Message{
		`{"observer":1,"counts":[{"cell_id":4,"number":55}]}`:                &cellcounterv1.SaveCountRequest{},
		`{"mappings":[{"key":"a","cell_id":4,"in_total":false}]}`:            &cellcounterv1.MappingsBody{},
		`{"told_values":[{"lab_report_id":4,"told":"7.9"}],"is_draft":true}`: &calloutv1.SaveCalloutRequest{},
	} {
		if err := labjson.Unmarshal([]byte(body), m); err == nil {
			t.Errorf("%s: accepted as %v", body, m)
		}
	}
}
