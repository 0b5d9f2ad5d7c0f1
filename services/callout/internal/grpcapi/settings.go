package grpcapi

import (
	"context"
	"time"

	calloutv1 "github.com/labplatform/labplatform/proto/gen/lab/callout/v1"
	"github.com/labplatform/labplatform/services/callout/internal/callout"
	"github.com/labplatform/labplatform/services/callout/internal/settings"
)

// GetCalloutSettings returns the settings of the caller's laboratory.
func (s *Server) GetCalloutSettings(
	ctx context.Context, _ *calloutv1.GetCalloutSettingsRequest,
) (*calloutv1.CalloutSettings, error) {
	defer s.u.Durations.Measure(ctx, opSettings)()
	p, scope, _, err := person(ctx)
	if err != nil {
		return nil, err
	}
	held, err := s.u.Settings.Get(ctx, scope)
	if err != nil {
		return nil, err
	}
	may, err := s.u.Settings.MayChange(ctx, p, scope)
	if err != nil {
		return nil, err
	}
	return settingsOf(held, may), nil
}

// PutCalloutSettings replaces the settings of the caller's laboratory.
func (s *Server) PutCalloutSettings(
	ctx context.Context, in *calloutv1.PutCalloutSettingsRequest,
) (*calloutv1.CalloutSettings, error) {
	defer s.u.Durations.Measure(ctx, opSettings)()
	p, scope, _, err := person(ctx)
	if err != nil {
		return nil, err
	}
	held, err := s.u.Settings.Put(ctx, p, scope, settings.Own{
		EscalateMinutes: number(in.EscalateMinutes), EscalateMost: number(in.EscalateMost),
		ReadBackNeeded: in.ReadBackNeeded, RepeatWithinHours: number(in.RepeatWithinHours),
		RemindHours: number(in.RemindHours),
	})
	if err != nil {
		return nil, err
	}
	return settingsOf(held, true), nil
}

func number(n *int32) *int {
	if n == nil {
		return nil
	}
	value := int(*n)
	return &value
}

func settingsOf(held callout.Settings, mayChange bool) *calloutv1.CalloutSettings {
	return &calloutv1.CalloutSettings{
		EscalateMinutes: clamp(int(held.After / time.Minute)), EscalateMost: clamp(held.Most),
		ReadBackNeeded: held.ReadBackNeeded, RepeatWithinHours: clamp(int(held.RepeatWithin / time.Hour)),
		RemindHours: clamp(int(held.RemindAfter / time.Hour)), MayChange: mayChange,
	}
}
