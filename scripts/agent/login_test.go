package main

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// loggedOut responds as the platform does after the user's login has ended. Tokens of sessions stay valid.
type loggedOut struct {
	*hospital
	out *atomic.Bool
}

var errLogin = &problem{Code: http.StatusUnauthorized, Message: "Log in again"}

func (l loggedOut) current(ctx context.Context, report int64, token string) (*revision, error) {
	if l.out.Load() && token == "" {
		return nil, errLogin
	}
	return l.hospital.current(ctx, report, token)
}

func (l loggedOut) create(ctx context.Context, report int64, key string, in creation) (opened, error) {
	if l.out.Load() {
		return opened{}, errLogin
	}
	return l.hospital.create(ctx, report, key, in)
}

// TestAnAgentWhoseLoginEndedSaysSo lets the computer sleep overnight, so that neither session nor login is valid. After
// a new login the agent must save to the report.
func TestAnAgentWhoseLoginEndedSaysSo(t *testing.T) {
	for name, end := range map[string]func(*hospital){
		"the session expired": func(h *hospital) { h.expire(1) },
		"the token grew old":  func(h *hospital) { h.agesTokens(1) },
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, h *hospital, u *user) {
				var out atomic.Bool
				u.platform = loggedOut{h, &out}
				u.start()
				out.Store(true)
				end(h)
				u.types("malignant")
				time.Sleep(3 * time.Minute)
				select {
				case err := <-u.done:
					u.wantError(err, errLoggedOut)
					if !strings.Contains(err.Error(), "start the same command") {
						t.Errorf("it does not say what to do: %v", err)
					}
				default:
					t.Fatalf("it still asks: %s", u.said)
				}
				u.wantDocument("malignant")
				out.Store(false)
				u.start()
				u.wantReport(7001, "malignant")
				u.wantError(u.ctrlC(), nil)
			})
		})
	}
}
