// Package grpcapi is the gRPC API of the queue. It authorizes the caller, decodes the request, calls submit or manage,
// and encodes the response.
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

// Consents records the consents of recipients.
type Consents interface {
	Update(ctx context.Context, caller task.Caller, u consent.Update) error
}

// Unserved returns why tasks of a channel and a sub-type are not delivered here; empty if they are.
type Unserved func(c job.Channel, taskType int) string

// Access defines who may use the queue in addition to the platform's services.
type Access string

// Values of the setting TASKQUEUE_ACCESS.
const (
	AccessAuthenticated Access = "authenticated" // any valid credential of the platform
	AccessOpen          Access = "open"          // also callers without a credential
	AccessOff           Access = "off"           // services only
)

// Server serves the gRPC service lab.taskqueue.v1.
type Server struct {
	taskqueuev1.UnimplementedTaskQueueServiceServer
	Tasks    *submit.Acceptor
	Jobs     *manage.Jobs
	Consents Consents // nil: there is no database, and consents are rejected
	Access   Access
	Send     string // permission required of users; empty: none
	Unserved Unserved
	// PausedLabs returns the laboratories whose tasks wait because an operator has paused them.
	PausedLabs func() []int64
}

// AnonymousMethods returns the methods that need no credential with the given access: all methods for users, or none.
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

// anonymousLab is the laboratory of callers without a credential. It separates their jobs from those of laboratories
// (positive) and of services without a laboratory (0).
const anonymousLab = -1

var errReferrer = apperr.New(apperr.Forbidden, "STAFF_ONLY",
	"Messages and their jobs are for the staff of the laboratory and its doctors; ask the laboratory to send it")

// userName returns the name of a person for jobs, keys and consents. Only lab users have the short form user:ID.
func userName(a authn.Actor) string {
	if a.Kind == authn.ActorLabUser {
		return fmt.Sprintf("user:%d", a.ID)
	}
	return fmt.Sprintf("%s:%d", a.Kind, a.ID)
}

// refers reports whether the login belongs to a person who only refers patients to the laboratory.
func refers(p authn.Principal) bool {
	_, referring := p.ReferringDoctor()
	return referring || p.SessionType == authn.Organization || p.SessionType == authn.CollectionCenter
}

// caller returns the caller and its laboratory, or an error for logins that may not use the queue. Services may call
// every method listed in their contracts.
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
