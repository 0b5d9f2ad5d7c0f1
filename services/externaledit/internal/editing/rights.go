package editing

import (
	"context"

	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Logins checks again the logins with which sessions were opened.
type Logins interface {
	// MayEdit reports whether the login of the session still exists and may edit reports. It returns an error if that
	// cannot be checked at present.
	MayEdit(ctx context.Context, s *session.Session) (bool, error)
}

// Lister is the part of a locked report that Withdrawn needs.
type Lister interface {
	Listed(ctx context.Context, a session.Author) (bool, error)
}

// Withdrawn reports whether the author of a session lost the permission to edit since it began. If the platform's list
// of users granted the permission then, the list decides, even after a sign-out in the browser. Otherwise the login
// that opened the session decides.
func Withdrawn(ctx context.Context, l Lister, logins Logins, s *session.Session) (bool, error) {
	if s.Listed {
		listed, err := l.Listed(ctx, s.Author)
		return err == nil && !listed, err
	}
	if s.Login == nil { // a user's token cannot be withdrawn
		return false, nil
	}
	may, err := logins.MayEdit(ctx, s)
	return err == nil && !may, err
}
