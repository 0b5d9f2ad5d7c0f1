package edge

import (
	"context"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
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

// notDeployed is the connection of an area whose service has no address. The area's documented paths respond with 501.
type notDeployed struct{ area *Area }

var _ grpc.ClientConnInterface = (*notDeployed)(nil)

func (n notDeployed) err() error {
	return rpcerr.ToStatus(apperr.New(apperr.Unimplemented, "AREA_NOT_DEPLOYED",
		n.area.Title+" is not deployed here. Ask the operator of this installation to enable it.")).Err()
}

func (n notDeployed) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return n.err()
}

func (n notDeployed) NewStream(
	context.Context,
	*grpc.StreamDesc,
	string,
	...grpc.CallOption,
) (grpc.ClientStream, error) {
	return nil, n.err()
}
