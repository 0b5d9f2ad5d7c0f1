package editing

import (
	"context"

	"github.com/labplatform/labplatform/services/externaledit/internal/session"
)

// Logins asks again for the logins that sessions were opened with.
type Logins interface {
	// MayEdit reports whether the login of the session is still there and may edit reports; an error when it cannot be
	// asked now.
	MayEdit(ctx context.Context, s *session.Session) (bool, error)
}

// Lister is what Withdrawn needs of a locked report.
type Lister interface {
	Listed(ctx context.Context, a session.Author) (bool, error)
}

// Withdrawn reports whether the author of a session lost the right to edit since it began. About an author whom the
// platform's list of users named as one who may edit, the list decides, whether or not the browser is signed out. About
// another the login does that opened the session.
func Withdrawn(ctx context.Context, l Lister, logins Logins, s *session.Session) (bool, error) {
	if s.Listed {
		listed, err := l.Listed(ctx, s.Author)
		return err == nil && !listed, err
	}
	if s.Login == nil { // a token of a user cannot be withdrawn
		return false, nil
	}
	may, err := logins.MayEdit(ctx, s)
	return err == nil && !may, err
}
