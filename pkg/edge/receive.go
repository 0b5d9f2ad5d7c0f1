package edge

import (
	"context"

	"google.golang.org/grpc"
)

// receiving is a connection that accepts responses larger than gRPC's default.
type receiving struct {
	grpc.ClientConnInterface
	limit grpc.CallOption
}

var _ grpc.ClientConnInterface = (*receiving)(nil)

// receive returns c with the area's limit on the size of responses.
func (a *Area) receive(c grpc.ClientConnInterface) grpc.ClientConnInterface {
	if a.MaxResponseBytes == 0 {
		return c
	}
	return receiving{c, grpc.MaxCallRecvMsgSize(a.MaxResponseBytes)}
}

func (c receiving) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, append(opts, c.limit)...)
}

func (c receiving) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(ctx, desc, method, append(opts, c.limit)...)
}
