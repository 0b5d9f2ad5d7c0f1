package document

import (
	"net/url"
	"path"
	"strings"
)

// Ends of relationship types. Their beginnings differ between the two editions of the standard.
const (
	relOffice    = "/officeDocument"
	relCustom    = "/custom-properties"
	relCustomISO = "/customProperties" // in the strict edition
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

// relation is one relationship of a relationships part.
type relation struct{ id, kind, target string }

// is reports whether the relationship has the kind, whatever the edition of the standard.
func (r relation) is(kind string) bool { return strings.HasSuffix(r.kind, kind) }

// judge rejects a link to outside of the package if opening the document would fetch or run its target. Hyperlinks are
// allowed, because a person has to click them.
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

// isRemote reports whether a target is on another computer, a share or a host. Paths on the author's own disks, which
// Word writes for templates and pictures, are not remote.
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
	case !found, len(scheme) == 1, strings.ContainsAny(scheme, "/ #?"): // a drive letter, or a colon within a name
		return false
	case scheme == "data", scheme == "cid": // data in the link, or a picture of an e-mail that was pasted
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

// resolve returns the name, in lower case, of the part that a relationship's target refers to. base is the part that
// has the relationship, "" for the package.
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

// relations passes each relationship of a part to take.
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

// noText ignores text and the ends of elements, for handlers that need only the beginnings of elements.
type noText struct{}

func (noText) end(string) error  { return nil }
func (noText) text([]byte) error { return nil }
