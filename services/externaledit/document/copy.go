package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// CopyFor writes a copy of the document with the id of the report in a custom property and no other change. It returns
// an error if the document cannot be parsed.
func CopyFor(reportID int64, to io.Writer, r io.ReaderAt, size int64) error {
	p, err := openForCopy(r, size)
	if err != nil {
		return err
	}
	value := strconv.FormatInt(reportID, 10)
	if p.custom == "" {
		kind, space := relSpace+relCustom, customSpace
		if p.strict {
			kind, space = strictSpace+relCustomISO, customStrict
		}
		if err := p.add("docProps/custom", "application/vnd.openxmlformats-officedocument.custom-properties+xml",
			rootRels, kind, `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`+"\n"+`<Properties xmlns="`+space+`">`+
				property(space, value, firstPropertyID)+`</Properties>`); err != nil {
			return err
		}
		return p.write(to)
	}
	if err := p.change(p.custom, func(part []byte) ([]byte, error) { return setProperty(part, value) }); err != nil {
		return err
	}
	return p.write(to)
}

// FinalView writes a copy of the document in which LibreOffice shows all tracked changes as accepted.
func FinalView(to io.Writer, r io.ReaderAt, size int64) error {
	p, err := openForCopy(r, size)
	if err != nil {
		return err
	}
	space, kind := wordSpace, relSpace+relSettings
	if p.strict {
		space, kind = wordStrict, strictSpace+relSettings
	}
	view := `<w:revisionView xmlns:w="` + space + `" w:markup="0"/>`
	rels, settings := path.Join(path.Dir(p.main), "_rels", path.Base(p.main)+".rels"), ""
	if p.parts[rels] != nil {
		if err := p.scan(rels, relations{take: func(r relation, external bool) error {
			if r.is(relSettings) && !external {
				settings = resolve(p.main, r.target)
			}
			return nil
		}}); err != nil {
			return err
		}
	}
	if p.parts[settings] == nil {
		if err := p.add(path.Join(path.Dir(p.main), "settings"), typeWordML+"settings+xml", rels, kind,
			`<w:settings xmlns:w="`+space+`">`+view+`</w:settings>`); err != nil {
			return err
		}
		return p.write(to)
	}
	if err := p.change(settings, func(part []byte) ([]byte, error) { return setView(part, view) }); err != nil {
		return err
	}
	return p.write(to)
}

// packageCopy is an Office package with replaced and added parts.
type packageCopy struct {
	*officePackage
	changed map[string][]byte // replaced parts by name in lower case
	added   []addedPart
}

type addedPart struct{ name, content string }

func openForCopy(r io.ReaderAt, size int64) (*packageCopy, error) {
	p, err := openPackage(r, size)
	if err != nil {
		return nil, err
	}
	p.budget = inflatedBytes
	if err := p.index(); err != nil {
		return nil, err
	}
	if p.parts[p.main] == nil || (p.custom != "" && p.parts[p.custom] == nil) {
		return nil, errors.New("a part of the document is missing")
	}
	return &packageCopy{officePackage: p, changed: map[string][]byte{}}, nil
}

// maxChanged is the maximum size of a part that can be changed, because it is kept in memory.
const maxChanged = 2 << 20

func (p *packageCopy) change(name string, edit func([]byte) ([]byte, error)) error {
	content, ok := p.changed[name]
	if part := p.parts[name]; !ok && part != nil {
		opened, err := part.Open()
		if err != nil {
			return err
		}
		defer opened.Close()
		if content, err = io.ReadAll(io.LimitReader(opened, maxChanged+1)); err != nil {
			return err
		}
	}
	if len(content) > maxChanged {
		return fmt.Errorf("the part %s is too large to be changed", name)
	}
	edited, err := edit(content)
	if err == nil {
		p.changed[name] = edited
	}
	return err
}

// add adds a part called name.xml, or the next free name, together with its content type and a relationship to it in
// the part rels.
func (p *packageCopy) add(name, kind, rels, relKind, content string) error {
	target := name + ".xml"
	for n := 2; p.parts[strings.ToLower(target)] != nil; n++ {
		target = fmt.Sprintf("%s%d.xml", name, n)
	}
	p.added = append(p.added, addedPart{target, content})
	if err := p.change(contentTypes, func(part []byte) ([]byte, error) {
		return insertLast(part, fmt.Sprintf(`<Override xmlns=%q PartName=%q ContentType=%q/>`,
			"http://schemas.openxmlformats.org/package/2006/content-types", "/"+target, kind))
	}); err != nil {
		return err
	}
	const space = "http://schemas.openxmlformats.org/package/2006/relationships"
	if p.parts[rels] == nil {
		p.added = append(p.added, addedPart{rels, fmt.Sprintf(`<Relationships xmlns=%q><Relationship Id="rIdLab" Type=%q Target=%q/></Relationships>`,
			space, relKind, "/"+target)})
		return nil
	}
	return p.change(rels, func(part []byte) ([]byte, error) {
		id := "rIdLab"
		for n := 2; bytes.Contains(part, []byte(`"`+id+`"`)); n++ {
			id = fmt.Sprint("rIdLab", n)
		}
		return insertLast(part, fmt.Sprintf(`<Relationship xmlns=%q Id=%q Type=%q Target=%q/>`, space, id, relKind,
			"/"+target))
	})
}

// write writes the package. Unchanged parts are copied byte for byte.
func (p *packageCopy) write(to io.Writer) error {
	out := zip.NewWriter(to)
	for _, part := range p.archive.File {
		content, changed := p.changed[strings.ToLower(part.Name)]
		var err error
		if changed {
			err = writePart(out, part.Name, content)
		} else {
			err = out.Copy(part)
		}
		if err != nil {
			return err
		}
	}
	for _, part := range p.added {
		if err := writePart(out, part.name, []byte(part.content)); err != nil {
			return err
		}
	}
	return out.Close()
}

func writePart(out *zip.Writer, name string, content []byte) error {
	part, err := out.Create(name)
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	return err
}

// Values of parts with custom properties.
const (
	customSpace     = "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"
	customStrict    = "http://purl.oclc.org/ooxml/officeDocument/customProperties"
	firstPropertyID = 2
)

// property returns the XML of a custom property with the report's id, for the edition of the standard that space
// belongs to.
func property(space, value string, id int) string {
	values := "http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes"
	if space == customStrict {
		values = "http://purl.oclc.org/ooxml/officeDocument/docPropsVTypes"
	}
	return fmt.Sprintf(`<property xmlns=%q fmtid="{D5CDD505-2E9C-101B-9397-08002B2CF9AE}" pid="%d" name=%q>`+
		`<vt:lpwstr xmlns:vt=%q>%s</vt:lpwstr></property>`, space, id, reportProperty, values, value)
}

// setProperty adds the report's id to the custom properties and removes an earlier one.
func setProperty(part []byte, value string) ([]byte, error) {
	space, next := customSpace, firstPropertyID
	from, to := 0, 0
	err := walk(part, func(depth int, token xml.Token, begin, end int) {
		start, ok := token.(xml.StartElement)
		switch {
		case ok && depth == 0 && start.Name.Space == customStrict:
			space = customStrict
		case ok && depth == 1:
			for _, a := range start.Attr {
				if id, err := strconv.Atoi(a.Value); a.Name.Local == "pid" && err == nil {
					next = max(next, id+1)
				}
				if a.Name.Local == "name" && a.Value == reportProperty {
					from = begin
				}
			}
		case from > 0 && to == 0 && depth == 1:
			to = end
		}
	})
	if err != nil {
		return nil, err
	}
	if from > 0 {
		part = append(bytes.Clone(part[:from]), part[to:]...)
	}
	return insertLast(part, property(space, value, next))
}

// setView adds the view of tracked changes to the settings and removes earlier ones.
func setView(part []byte, view string) ([]byte, error) {
	var kept []byte
	from, copied := 0, 0
	err := walk(part, func(depth int, token xml.Token, begin, end int) {
		start, ok := token.(xml.StartElement)
		switch {
		case ok && depth == 1 && start.Name.Local == "revisionView":
			from = begin
		case from > 0 && depth == 1:
			if _, ok := token.(xml.EndElement); ok {
				kept, copied, from = append(kept, part[copied:from]...), end, 0
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return insertFirst(append(kept, part[copied:]...), view)
}

// insertFirst inserts text before the content of the root element; insertLast inserts it after the content.
func insertFirst(part []byte, text string) ([]byte, error) {
	at := -1
	err := walk(part, func(depth int, token xml.Token, _, end int) {
		if _, ok := token.(xml.StartElement); ok && depth == 0 {
			at = end
		}
	})
	return insert(part, at, text, err)
}

func insertLast(part []byte, text string) ([]byte, error) {
	at := -1
	err := walk(part, func(depth int, token xml.Token, begin, _ int) {
		if _, ok := token.(xml.EndElement); ok && depth == 0 {
			at = begin
		}
	})
	return insert(part, at, text, err)
}

var errInsert = errors.New("the part cannot be added to")

// insert inserts text at an offset inside the root element, which may be written as an empty element. err is an error
// of the caller's search for the offset.
func insert(part []byte, at int, text string, err error) ([]byte, error) {
	if err != nil || at < 0 {
		return nil, errors.Join(err, errInsert)
	}
	if head, empty := bytes.CutSuffix(part[:at], []byte("/>")); empty && !bytes.HasPrefix(part[at:], []byte("</")) {
		if rest := part[at:]; bytes.IndexByte(rest, '<') < 0 { // the root element is the empty one
			name := head[bytes.LastIndexByte(head, '<')+1:]
			if end := bytes.IndexAny(name, " \t\r\n"); end >= 0 {
				name = name[:end]
			}
			text = ">" + text + "</" + string(name) + ">"
			return append(append(bytes.Clone(head), text...), rest...), nil
		}
	}
	return append(append(bytes.Clone(part[:at]), text...), part[at:]...), nil
}

// walk calls visit for each token of part with its offsets. depth is the number of elements around the token's element.
func walk(part []byte, visit func(depth int, token xml.Token, begin, end int)) error {
	decoder := xml.NewDecoder(bytes.NewReader(part))
	depth := 0
	for {
		begin := int(decoder.InputOffset())
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, ok := token.(xml.EndElement); ok {
			depth--
		}
		visit(depth, token, begin, int(decoder.InputOffset()))
		if _, ok := token.(xml.StartElement); ok {
			depth++
		}
	}
}
