// Package grpcapi is the gRPC API of the queue: it decodes, calls and encodes.
package grpcapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/grpcserver"
	taskqueuev1 "github.com/labplatform/labplatform/proto/gen/lab/taskqueue/v1"
	"github.com/labplatform/labplatform/services/taskqueue/internal/consent"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/manage"
	"github.com/labplatform/labplatform/services/taskqueue/internal/submit"
	"github.com/labplatform/labplatform/services/taskqueue/internal/task"
)

// Consents records what recipients agreed to.
type Consents interface {
	Update(ctx context.Context, caller task.Caller, u consent.Update) error
}

// Unserved returns why tasks of a channel and a sub-type are not delivered here; empty when they are.
type Unserved func(c job.Channel, taskType int) string

// Access says who may use the queue in addition to the services of the platform.
type Access string

// The settings of TASKQUEUE_ACCESS.
const (
	AccessAuthenticated Access = "authenticated" // any valid credential of the platform
	AccessOpen          Access = "open"          // also callers without a credential
	AccessOff           Access = "off"           // services only
)

// Server implements lab.taskqueue.v1: who may call, decoding, calling, encoding.
type Server struct {
	taskqueuev1.UnimplementedTaskQueueServiceServer
	Tasks    *submit.Acceptor
	Jobs     *manage.Jobs
	Consents Consents // nil: the queue runs without its database
	Access   Access
	Send     string // the permission that users need; empty: none
	Unserved Unserved
	// PausedLabs lists the laboratories whose tasks wait because an operator pauses them.
	PausedLabs func() []int64
}

// AnonymousMethods are the methods that need no credential under the given access: the ones that users may call.
func AnonymousMethods(a Access) []string {
	if a != AccessOpen {
		return nil
	}
	var names []string
	for name, callers := range grpcserver.Callers() {
		if callers.GetUsers() && strings.HasPrefix(name, "/"+taskqueuev1.TaskQueueService_ServiceDesc.ServiceName+"/") {
			names = append(names, name)
		}
	}
	return names
}

// anonymousLab keeps the jobs of callers without a credential apart from those of laboratories (positive) and of
// services without one (zero).
const anonymousLab = -1

var errReferrer = apperr.New(apperr.Forbidden, "STAFF_ONLY",
	"Messages and their jobs are for the staff of the laboratory and its doctors; ask the laboratory to send it")

// userName is how a person is named in jobs, keys and consents. Lab users have the shortest name.
func userName(a authn.Actor) string {
	if a.Kind == authn.ActorLabUser {
		return fmt.Sprintf("user:%d", a.ID)
	}
	return fmt.Sprintf("%s:%d", a.Kind, a.ID)
}

// refers reports whether the login only refers patients to the laboratory.
func refers(p authn.Principal) bool {
	_, referring := p.ReferringDoctor()
	return referring || p.SessionType == authn.Organization || p.SessionType == authn.CollectionCenter
}

// caller returns who calls and for which laboratory, and refuses logins that may not use the queue. Services may do all
// that their contracts list.
func (s *Server) caller(ctx context.Context, named int64) (task.Caller, error) {
	p := authn.FromContext(ctx)
	if p.Kind == authn.Service {
		return task.Caller{LabID: max(named, 0), Name: "service:" + p.Caller, Internal: true}, nil
	}
	switch {
	case s.Access == AccessOff:
		return task.Caller{}, apperr.New(apperr.Forbidden, "ACCESS_OFF",
			"The task queue takes requests from services of the platform only")
	case p.Kind == authn.Anonymous && s.Access == AccessOpen && s.Send == "":
		return task.Caller{LabID: anonymousLab, Name: "anonymous"}, nil
	case p.Kind == authn.Anonymous:
		return task.Caller{}, apperr.New(apperr.Unauthenticated, "UNAUTHENTICATED", "Log in to use the task queue")
	case refers(p):
		return task.Caller{}, errReferrer
	case s.Send != "" && !p.Has(s.Send):
		return task.Caller{}, apperr.New(apperr.Forbidden, "SENDING_NOT_ALLOWED",
			"Your account may not use the task queue; ask an administrator of the laboratory for the permission "+s.Send)
	}
	scope, err := p.Scope(named)
	if err != nil {
		return task.Caller{}, err
	}
	return task.Caller{LabID: scope.LabID(), Name: userName(p.Actor()), Instrument: p.IsInstrument()}, nil
}
