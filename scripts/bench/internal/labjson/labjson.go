// Package labjson measures the REST codec beside protojson, on a response and a request of the task queue and of the
// sample rerun.
package labjson

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/labplatform/labplatform/pkg/labjson"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
)

const values = 20

// Run measures encode_ns and decode_ns.
func Run(_ context.Context, r *report.Report) error {
	rounds, span := 4, 2*time.Second
	if r.Quick {
		rounds, span = 2, time.Second
	}
	message := answer()
	document, err := labjson.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := check(r, message, document); err != nil {
		return err
	}
	encode := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}
	if err := compare(r, "encode_ns", rounds, span,
		func() error { _, err := labjson.Marshal(message); return err },
		func() error { _, err := encode.Marshal(message); return err }); err != nil {
		return err
	}
	decode := protojson.UnmarshalOptions{DiscardUnknown: true}
	return compare(r, "decode_ns", rounds, span,
		func() error { return labjson.Unmarshal(document, &rerunv1.ListRerunsResponse{}) },
		func() error { return decode.Unmarshal(document, &rerunv1.ListRerunsResponse{}) })
}

// check checks that both codecs decode the document into the same message.
func check(r *report.Report, message proto.Message, document []byte) error {
	ours, theirs := &rerunv1.ListRerunsResponse{}, &rerunv1.ListRerunsResponse{}
	if err := labjson.Unmarshal(document, ours); err != nil {
		return fmt.Errorf("labjson reads its own: %w", err)
	}
	if err := protojson.Unmarshal(document, theirs); err != nil {
		return fmt.Errorf("protojson reads ours: %w", err)
	}
	if !proto.Equal(message, ours) || !proto.Equal(message, theirs) {
		return fmt.Errorf("the codecs disagree")
	}
	r.Correct("codecs_agree", true)
	r.Correct("document_bytes", len(document))
	return nil
}

func compare(r *report.Report, metric string, rounds int, span time.Duration, ours, peer func() error) error {
	oursRuns, peerRuns, err := report.Alternate(rounds,
		func() (float64, error) { return perCall(span, ours) },
		func() (float64, error) { return perCall(span, peer) })
	if err != nil {
		return err
	}
	r.Lower(metric, "ns", oursRuns, "protojson", peerRuns)
	return nil
}

// perCall returns the nanoseconds per call, measured for at least span.
func perCall(span time.Duration, call func() error) (float64, error) {
	const batch = 200
	start, calls := time.Now(), 0
	for time.Since(start) < span {
		for range batch {
			if err := call(); err != nil {
				return 0, err
			}
		}
		calls += batch
	}
	return float64(time.Since(start).Nanoseconds()) / float64(calls), nil
}

func answer() *rerunv1.ListRerunsResponse {
	message := &rerunv1.ListRerunsResponse{SampleRedrawFlag: 4}
	for i := range values {
		value := &rerunv1.RerunValue{
			XId: fmt.Sprintf("67402e5f9c1d%012d", i), LabId: 12, SampleId: "S-2026-000417", Value: "13.4",
			Order: int32(i), Index: int32(i + 1), RerunType: "manual_rerun", RerunNumber: 1,
			ParameterName: "Mean Corpuscular Volume", DeviceId: "XN-1000-01", DeviceName: "Sysmex XN-1000",
			CreatedAt: "2026-11-21T10:15:30Z",
		}
		if i%2 == 0 {
			value.OriginalValue = proto.String("12.9")
		}
		message.Reruns = append(message.Reruns, value)
	}
	return message
}
