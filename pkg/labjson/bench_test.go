package labjson_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/labjson"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

// page returns a list of 30 rerun values, the response of GET /sample-rerun/<id> for a blood count.
func page() *rerunv1.ListRerunsResponse {
	r := &rerunv1.ListRerunsResponse{SampleRedrawFlag: 4}
	for i := range int32(30) {
		r.Reruns = append(r.Reruns, &rerunv1.RerunValue{
			XId: fmt.Sprintf("68f0c0ffee%014d", i), LabId: 12, SampleId: "S-2026-000123", Value: "13.5", Order: i, Index: i + 1,
			RerunType: "manual_rerun", RerunNumber: 1, ParameterName: "Haemoglobin", DeviceId: "XN-1000-7",
			DeviceName: "Analyser α", CreatedAt: "2026-11-21T10:00:00Z", OriginalValue: proto.String("13.1"),
		})
	}
	r.PendingRequests = []*rerunv1.PendingRequest{{RerunId: "68f0c0ffee", Type: "Manual", RerunNumber: 1,
		RequestedParameters: []int32{1, 3, 5}, ParameterNames: []string{"a", "b"}, CreatedBy: 77}}
	return r
}

func BenchmarkEncode(b *testing.B) {
	m := page()
	b.Run("labjson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := labjson.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		o := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true, UseEnumNumbers: true}
		for b.Loop() {
			if _, err := o.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data, err := labjson.Marshal(page())
	if err != nil {
		b.Fatal(err)
	}
	m := &rerunv1.ListRerunsResponse{}
	b.Run("labjson", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := labjson.Unmarshal(data, m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		o := protojson.UnmarshalOptions{DiscardUnknown: true}
		for b.Loop() {
			if err := o.Unmarshal(data, m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
