package edge

import (
	"context"

	"google.golang.org/grpc"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/rpcerr"
)

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
