package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/cli"
	rerunv1 "github.com/labplatform/labplatform/proto/gen/lab/rerun/v1"
)

// path is the URL path for which both sides return the same small document.
const path = "/api-v3/sample-rerun/7001"

type value struct {
	ID            string  `json:"_id"`
	LabID         int64   `json:"lab_id"`
	SampleID      string  `json:"sample_id"`
	Value         string  `json:"value"`
	Order         int32   `json:"order"`
	Index         int32   `json:"index"`
	RerunType     string  `json:"rerun_type"`
	RerunNumber   int32   `json:"rerun_number"`
	ParameterName string  `json:"parameter_name"`
	DeviceID      string  `json:"device_id"`
	DeviceName    string  `json:"device_name"`
	CreatedAt     string  `json:"created_at"`
	OriginalValue *string `json:"original_value"`
}

type document struct {
	Reruns          []value    `json:"reruns"`
	PendingRequests []struct{} `json:"pending_requests"`
	Flag            int32      `json:"sampleRedrawFlag"`
}

// ServePeer serves path with net/http and encoding/json until ctx ends.
func ServePeer(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: one ADDRESS is needed", cli.ErrUsage)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(document{
			Reruns: []value{{
				ID: "67402e5f9c1d4b0001a2b3c4", LabID: 12, SampleID: "S001", Value: "13.4", Index: 1, RerunType: "manual_rerun",
				RerunNumber: 1, ParameterName: "Haemoglobin", CreatedAt: "2026-11-21T10:15:30Z",
			}},
			PendingRequests: []struct{}{}, Flag: 4,
		})
	})
	server := &http.Server{Addr: args[0], Handler: mux}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return err
	}
	return nil
}

type backend struct {
	rerunv1.UnimplementedRerunServiceServer
}

// ListReruns returns one rerun.
func (backend) ListReruns(context.Context, *rerunv1.ListRerunsRequest) (*rerunv1.ListRerunsResponse, error) {
	return &rerunv1.ListRerunsResponse{
		SampleRedrawFlag: 4,
		Reruns: []*rerunv1.RerunValue{{
			XId: "67402e5f9c1d4b0001a2b3c4", LabId: 12, SampleId: "S001", Value: "13.4", Index: 1, RerunType: "manual_rerun",
			RerunNumber: 1, ParameterName: "Haemoglobin", CreatedAt: "2026-11-21T10:15:30Z",
		}},
	}, nil
}

// ServeBackend serves the gateway's calls until ctx ends.
func ServeBackend(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: one ADDRESS is needed", cli.ErrUsage)
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	rerunv1.RegisterRerunServiceServer(server, backend{})
	context.AfterFunc(ctx, server.Stop)
	return server.Serve(listener)
}
