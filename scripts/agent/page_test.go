package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// choice is a laboratory with two templates, one of which the user selects on the page.
type choice struct{ *hospital }

func (choice) templates(context.Context) ([]wordTemplate, error) {
	return []wordTemplate{{ID: 1, Name: "Histology", Path: "t.docx"}, {ID: 2, Name: "Cytology", Path: "u.docx"}}, nil
}

// opensOnThePage opens a session as the report's page does.
func (u *user) opensOnThePage(path string) {
	u.t.Helper()
	page, err := u.hospital.create(u.t.Context(), u.report, "page", creation{TemplateID: 2, Path: path})
	if err != nil {
		u.t.Fatal(err)
	}
	u.hospital.sessions[page.EditID].unused = true
}

// TestThePagesCommandContinuesThePagesSession runs the command that the page shows, which has no --template. It must
// continue the page's session.
func TestThePagesCommandContinuesThePagesSession(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		u.platform = choice{h}
		u.opensOnThePage("u.docx")
		u.start()
		u.types("ONE")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "ONE")
		if len(h.sessions) != 1 {
			t.Errorf("%d sessions", len(h.sessions))
		}
	})
}

// TestAPagesSessionThatExpiresWithoutASaveIsOpenedAgain checks that the agent uses the same template, because it cannot
// ask the author.
func TestAPagesSessionThatExpiresWithoutASaveIsOpenedAgain(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		u.platform = choice{h}
		u.opensOnThePage("u.docx")
		u.start()
		h.expire(1)
		time.Sleep(2 * time.Minute)
		u.types("ONE")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "ONE")
		if s := h.sessions[2]; s == nil || s.begins != "https://link/u.docx" {
			t.Errorf("the second session is %+v", s)
		}
	})
}

// TestASessionThatBeganWithTheTemplateGoesOnWithTheNewestSave checks that a session which another program opened with
// the template, although the report has saves, continues with the newest save.
func TestASessionThatBeganWithTheTemplateGoesOnWithTheNewestSave(t *testing.T) {
	story(t, func(_ *testing.T, h *hospital, u *user) {
		h.somebodyElse(7001, "B's work")
		u.opensOnThePage("t.docx")
		u.start()
		u.wantDocument("B's work")
		u.wantError(u.ctrlC(), nil)
		u.wantReport(7001, "B's work")
	})
}

func TestWithoutAPagesSessionTheTemplateIsAskedFor(t *testing.T) {
	story(t, func(t *testing.T, h *hospital, u *user) {
		u.platform = choice{h}
		u.start()
		if err := u.ctrlC(); err == nil || !strings.Contains(err.Error(), "--template 2  Cytology") {
			t.Errorf("%v", err)
		}
	})
}

func TestAnOwnSessionIsAskedForWithItsTemplate(t *testing.T) {
	offered := []wordTemplate{{ID: 5, Path: "templates/t.docx"}, {ID: 6, Path: "s3://files/templates/u.docx"}}
	for word, want := range map[string]creation{
		"s3://files/templates/t.docx": {TemplateID: 5, Path: "templates/t.docx"},
		"s3://files/templates/u.docx": {TemplateID: 6, Path: "s3://files/templates/u.docx"},
		"s3://files/other.docx":       {TemplateID: 1, Path: "s3://files/other.docx"},
	} {
		if got := (&ownSession{Word: word}).creation(offered); got != want {
			t.Errorf("for %s: %+v, want %+v", word, got, want)
		}
	}
}

func TestOnlyTheAuthorsSessionIsOwn(t *testing.T) {
	for body, want := range map[string]bool{
		`{"id": 4, "word_file_path": "t.docx", "auth_token": "t", "is_active": 1}`: true,
		`{"id": 4, "word_file_path": "t.docx", "auth_token": "", "is_active": 1}`:  false,
		"": false, // responds 404
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body == "" || r.URL.Path != prefix+"/7001" {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write([]byte(body))
		}))
		own, err := client{base: server.URL, http: server.Client()}.own(t.Context(), 7001)
		server.Close()
		if err != nil || (own != nil) != want {
			t.Errorf("%s: %+v, %v", body, own, err)
		}
	}
}
