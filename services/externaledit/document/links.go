package document

import (
	"net/url"
	"path"
	"strings"
)

// Relationships, as their types end; what comes before differs between the two editions of the standard.
const (
	relOffice    = "/officeDocument"
	relCustom    = "/custom-properties"
	relCustomISO = "/customProperties" // of the strict edition
	relSettings  = "/settings"
	relHyperlink = "/hyperlink"
	relTemplate  = "/attachedTemplate"
	relImage     = "/image"
	relChunk     = "/aFChunk"
)

var (
	errRemoteTemplate = wordInvalid("WORD_REMOTE_TEMPLATE", "is attached to a template on another computer, which may"+
		" bring macros; attach Normal.dotm in Word (Developer, Document Template) and save it again")
	errRemotePicture = wordInvalid("WORD_REMOTE_PICTURE", "has a picture that is fetched from another computer;"+
		" break the link in Word (File, Info, Edit Links to Files) or insert the picture itself, and save it again")
	errLinked = wordInvalid("WORD_LINKED_OBJECT", "has an object that is linked to another file;"+
		" break the link in Word (File, Info, Edit Links to Files) and save it again")
)

const (
	relSpace    = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	strictSpace = "http://purl.oclc.org/ooxml/officeDocument/relationships"
)

// relation is one line of a part of relationships.
type relation struct{ id, kind, target string }

// is reports whether the relationship is of the kind.
func (r relation) is(kind string) bool { return strings.HasSuffix(r.kind, kind) }

// judge refuses a link to outside of the package that fetches or runs something when the document is opened. A
// hyperlink is allowed, because a person has to click it.
func (r relation) judge() error {
	switch {
	case r.is(relHyperlink):
		return nil
	case r.is("/oleObject"), r.is("/package"), r.is(relChunk), r.is("/subDocument"):
		return errLinked
	case !isRemote(r.target):
		return nil
	case r.is(relTemplate):
		return errRemoteTemplate
	case r.is(relImage):
		return errRemotePicture
	}
	return errLinked
}

// isRemote reports whether a target is on another computer: a share or a host. Paths of the author's own disks, which
// Word writes for templates and pictures, are not.
func isRemote(target string) bool {
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	target = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(target), `\`, "/"))
	if strings.HasPrefix(target, "//") {
		return true
	}
	scheme, rest, found := strings.Cut(target, ":")
	switch {
	case !found, len(scheme) == 1, strings.ContainsAny(scheme, "/ #?"): // a drive, or a colon in a name
		return false
	case scheme == "data", scheme == "cid": // in the link itself, or a picture of the e-mail that a text was pasted from
		return false
	case scheme != "file":
		return true
	}
	host := strings.TrimLeft(rest, "/")
	switch len(rest) - len(host) {
	case 0, 1, 3:
		return false
	case 2:
		name, _, _ := strings.Cut(host, "/")
		isDrive := len(name) == 2 && name[1] == ':'
		return name != "localhost" && !isDrive
	}
	return true
}

// resolve returns the part that a target of a relationship means, in lower case; base is the part that it is of, "" for
// the package.
func resolve(base, target string) string {
	if plain, err := url.PathUnescape(target); err == nil {
		target = plain
	}
	target = strings.ReplaceAll(target, `\`, "/")
	if !strings.HasPrefix(target, "/") {
		target = "/" + path.Join(path.Dir(base), target)
	}
	return strings.ToLower(strings.TrimPrefix(path.Clean(target), "/"))
}

// relations takes the relationships of a part.
type relations struct {
	noText
	take func(r relation, external bool) error
}

func (r relations) start(e *element) error {
	if e.local != "Relationship" {
		return nil
	}
	return r.take(relation{e.attr("Id"), e.attr("Type"), e.attr("Target")},
		strings.EqualFold(e.attr("TargetMode"), "External"))
}

// noText is the part of a handler that reads elements alone.
type noText struct{}

func (noText) end(string) error  { return nil }
func (noText) text([]byte) error { return nil }
