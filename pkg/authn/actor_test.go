package authn_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/authn"
)

func TestActorKindNamesTheTableOfItsID(t *testing.T) {
	t.Parallel()
	for want, p := range map[authn.Actor]authn.Principal{
		{Kind: authn.ActorLabUser, ID: 77, Name: "Asha R"}:     {Kind: authn.Session, SessionType: authn.LabUser, LabUserID: 77, FullName: "Asha R"},
		{Kind: authn.ActorLabUser, ID: 78, Name: "vikram"}:     {Kind: authn.Bearer, SessionType: authn.LabUser, LabUserID: 78, Username: "vikram"},
		{Kind: authn.ActorDoctor, ID: 77, Name: "Dr Rao"}:      {Kind: authn.Session, SessionType: authn.Doctor, DoctorID: 77, FullName: "Dr Rao"},
		{Kind: authn.ActorSupport, ID: 77, Name: "Support"}:    {Kind: authn.Session, SessionType: authn.Support, LabUserID: 77, FullName: "Support"},
		{Kind: authn.ActorOrganization, ID: 45}:                {Kind: authn.Session, SessionType: authn.Organization, OrgID: 45},
		{Kind: authn.ActorCollectionCenter, ID: 21}:            {Kind: authn.Session, SessionType: authn.CollectionCenter, CCID: 21},
		{Kind: authn.ActorInstrument}:                          {Kind: authn.Bearer, LabID: 12},
		{Kind: authn.ActorLabUser, ID: 79, Name: "token user"}: {Kind: authn.Bearer, LabUserID: 79, FullName: "token user", Grant: 1},
		authn.Platform: {Kind: authn.Service, Caller: "rerun"},
	} {
		got := p.Actor()
		if got != want {
			t.Errorf("actor = %+v, want %+v", got, want)
		}
		id, ok := got.LabUserID()
		if named := want.Kind == authn.ActorLabUser || want.Kind == authn.ActorPlatform; ok != named || ok && id != want.ID {
			t.Errorf("LabUserID of %+v = %d, %t", got, id, ok)
		}
	}
}

func TestActorNameFitsItsColumn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("é", 300), "broken \xff name", ""} {
		got := authn.Principal{Kind: authn.Session, SessionType: authn.LabUser, FullName: name}.Actor().Name
		if utf8.RuneCountInString(got) > 255 || !utf8.ValidString(got) {
			t.Errorf("name has %d characters, want at most 255 and valid UTF-8: %q", utf8.RuneCountInString(got), got)
		}
	}
}
