package document

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
)

const (
	maxEntries = 10_000
	// A document may inflate to inflatedBytes plus inflatedTimes its own size. The inflated bytes are counted, because
	// headers cannot be trusted.
	inflatedBytes = 64 << 20
	inflatedTimes = 10

	contentTypes = "[content_types].xml" // in lower case, as all part names in this package
	rootRels     = "_rels/.rels"
	encryptedBit = 1

	typeDocument = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
	typeTemplate = "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"
	typeWordML   = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	typeComments = typeWordML + "comments+xml"
	typeVBA      = "application/vnd.ms-office.vbaproject"
)

// Facts holds properties of a Word document on which the rules of a save depend.
type Facts struct {
	ReportID int64 // id of the report for which the copy was made; 0 if the document has none
	Tracked  bool  // contains insertions, deletions or moves that are neither accepted nor rejected
}

// ReadWord checks a .docx of size bytes and reads it completely. Errors of r are returned unchanged.
func ReadWord(r io.ReaderAt, size int64) (Facts, error) {
	source := &watched{ReaderAt: r}
	p, err := openPackage(source, size)
	if err == nil {
		p.budget = inflatedBytes + inflatedTimes*size
		err = p.word()
	}
	if source.err != nil { // the source failed, so the document is not at fault
		return Facts{}, source.err
	}
	if err != nil {
		return Facts{}, damaged(err)
	}
	return p.facts, nil
}

// officePackage is an Office document: a ZIP archive whose parts have content types and relationships.
type officePackage struct {
	archive  *zip.Reader
	parts    map[string]*zip.File // by name in lower case
	byName   map[string]string    // content types by part name, in lower case
	byEnding map[string]string
	budget   int64 // bytes that may still be inflated, including embedded packages
	memory   int   // bytes that may still be kept in memory, including embedded packages
	depth    int   // 0 for the document, above for what is embedded in it
	merged   bool  // the document itself, or a package that Word merges into its text
	main     string
	strict   bool            // saved as "Strict Open XML"
	custom   string          // name of the part with custom properties
	chunks   map[string]bool // names of parts that Word merges into the text
	facts    Facts
}

func openPackage(r io.ReaderAt, size int64) (*officePackage, error) {
	directory := &limitedDirectory{ReaderAt: r, left: maxDirectory}
	archive, err := zip.NewReader(directory, size)
	if directory.left < 0 {
		return nil, wordInvalid("WORD_TOO_MANY_PARTS", "has too many parts")
	}
	directory.read = true
	if err != nil {
		return nil, wordInvalid("WORD_DAMAGED", "is damaged: its list of parts cannot be read").WithCause(err)
	}
	if len(archive.File) > maxEntries {
		return nil, wordInvalid("WORD_TOO_MANY_PARTS", "has too many parts")
	}
	p := &officePackage{archive: archive, parts: map[string]*zip.File{}, byName: map[string]string{},
		byEnding: map[string]string{}, memory: maxMemory,
		chunks: map[string]bool{}}
	for _, part := range archive.File {
		name := strings.ToLower(part.Name)
		if err := checkPart(part); err != nil {
			return nil, err
		}
		if p.parts[name] != nil {
			return nil, wordInvalid("WORD_DAMAGED", "is damaged: it has a part twice")
		}
		p.parts[name] = part
	}
	return p, nil
}

func checkPart(part *zip.File) error {
	name := part.Name
	switch {
	case strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") || strings.Contains("/"+name+"/", "/../"):
		return wordInvalid("WORD_PART_PATH", "has a part whose name leaves the document")
	case part.Flags&encryptedBit != 0:
		return wordInvalid("WORD_ENCRYPTED", "is encrypted; save it without a password")
	case part.Method != zip.Store && part.Method != zip.Deflate:
		return wordInvalid("WORD_DAMAGED", "is compressed in a way that Word does not use")
	}
	return nil
}

// word checks that the package is a Word document, and reads all its parts.
func (p *officePackage) word() error {
	if err := p.index(); err != nil {
		return err
	}
	switch kind := p.typeOf(p.main); {
	case kind == typeTemplate:
		return wordInvalid("WORD_TEMPLATE",
			"is a template (.dotx), whatever its name says; save it as a Word document (.docx)")
	case kind != typeDocument || p.parts[p.main] == nil || isRels(p.main):
		return wordInvalid("WORD_PART_MISSING",
			"is not a Word document: it has no main part of a document; save it from Word as .docx")
	}
	p.merged = true
	return p.all()
}

// index reads the content types and root relationships of the package.
func (p *officePackage) index() error {
	if p.parts[contentTypes] == nil {
		return wordInvalid("WORD_PART_MISSING", "is not a Word document: its list of content types is missing")
	}
	if err := p.scan(contentTypes, types{p: p}); err != nil {
		return err
	}
	if p.parts[rootRels] == nil {
		return nil
	}
	return p.scan(rootRels, relations{take: func(r relation, external bool) error {
		switch {
		case external:
		case r.is(relOffice) && p.main == "":
			p.main, p.strict = resolve("", r.target), strings.HasPrefix(r.kind, strictSpace)
		case r.is(relCustom), r.is(relCustomISO):
			p.custom = resolve("", r.target)
		}
		return nil
	}})
}

// all checks every part to its end. Relationships are read first, because they determine what the other parts are.
func (p *officePackage) all() error {
	for _, rels := range []bool{true, false} {
		for _, part := range p.archive.File {
			if part.FileInfo().IsDir() || isRels(strings.ToLower(part.Name)) != rels {
				continue
			}
			if err := p.part(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// macroParts are names, in lower case, of parts in which Word keeps macros.
var macroParts = []string{"vbaproject.bin", "vbadata.xml", "vbaprojectsignature.bin", "attachedtoolbars.bin"}

var errMacro = wordInvalid("WORD_MACRO",
	"contains macros; save it as .docx without them, and remove embedded files that have macros")

func isMacro(name, kind string) bool {
	base := path.Base(name)
	for _, macro := range macroParts {
		if base == macro {
			return true
		}
	}
	return kind == typeVBA || strings.Contains(kind, ".macroenabled")
}

func isRels(name string) bool {
	return strings.HasSuffix(name, ".rels") && strings.HasSuffix("/"+path.Dir(name), "/_rels")
}

func (p *officePackage) part(part *zip.File) error {
	name := strings.ToLower(part.Name)
	kind := p.typeOf(name)
	switch {
	case isMacro(name, kind):
		return errMacro
	case !p.merged: // parts of other embedded packages are not text of the document
	case isRels(name): // a relationships part, even if its content type differs
		return p.relations(name)
	case name == p.main, strings.HasPrefix(kind, typeWordML) && strings.HasSuffix(kind, "+xml"):
		return p.story(name, kind)
	case name == p.custom:
		return p.scan(name, &properties{found: &p.facts.ReportID})
	}
	return p.open(name, p.embedded)
}

func (p *officePackage) relations(name string) error {
	from := path.Join(path.Dir(path.Dir(name)), strings.TrimSuffix(path.Base(name), ".rels"))
	return p.scan(name, relations{take: func(r relation, external bool) error {
		if external {
			return r.judge()
		}
		if target := resolve(from, r.target); r.is(relChunk) && p.parts[target] != nil {
			p.chunks[target] = true
		}
		return nil
	}})
}

func (p *officePackage) story(name, kind string) error {
	s := &story{main: name == p.main}
	err := p.scan(name, s)
	if errors.Is(err, errXML) && s.depth == 0 && !s.main { // some programs leave empty parts
		err = nil
	}
	if kind != typeComments && !strings.Contains(name, "glossary/") {
		p.facts.Tracked = p.facts.Tracked || s.tracked
	}
	return err
}

// untyped checks a part as text of Word if its XML is that, because Word finds headers by their relationships, whatever
// their content type.
func (p *officePackage) untyped(content *bufio.Reader) error {
	s := &story{untyped: true}
	err := scanXML(content, s)
	switch {
	case errors.Is(err, errNotWord), errors.Is(err, errXML) && s.root == "":
		return nil
	case err != nil:
		return err
	}
	switch s.root {
	case "hdr", "ftr", "footnotes", "endnotes":
		p.facts.Tracked = p.facts.Tracked || s.tracked
	}
	return nil
}

func (p *officePackage) typeOf(name string) string {
	if kind, ok := p.byName[name]; ok {
		return kind
	}
	return p.byEnding[strings.TrimPrefix(path.Ext(name), ".")]
}

// types reads the list of content types.
type types struct {
	noText
	p *officePackage
}

func (t types) start(e *element) error {
	kind := strings.ToLower(e.attr("ContentType"))
	if strings.Contains(kind, ".macroenabled") {
		return errMacro
	}
	switch e.local {
	case "Override":
		return t.remember(t.p.byName, resolve("", e.attr("PartName")), kind)
	case "Default":
		return t.remember(t.p.byEnding, strings.ToLower(e.attr("Extension")), kind)
	}
	return nil
}

func (t types) remember(in map[string]string, name, kind string) error {
	const longest = 256 // in bytes
	if len(name) > longest || len(kind) > longest {
		return wordInvalid("WORD_DAMAGED", "is damaged: its list of content types has a name that is too long")
	}
	in[name] = kind
	if t.p.memory -= len(name) + len(kind); t.p.memory < 0 || len(t.p.byName)+len(t.p.byEnding) > 2*maxEntries {
		return wordInvalid("WORD_TOO_MANY_PARTS", "has too many parts")
	}
	return nil
}

// scan parses an XML part.
func (p *officePackage) scan(name string, handle xmlHandler) error {
	err := p.open(name, func(content *bufio.Reader, _ *zip.File) error { return scanXML(content, handle) })
	if errors.Is(err, errXML) {
		return wordInvalid("WORD_DAMAGED",
			"is damaged: the part "+path.Base(p.parts[name].Name)+" is empty or no XML").WithCause(err)
	}
	return err
}

// open passes the content of a part to read. It then reads the rest, because the checksum is verified at the end.
func (p *officePackage) open(name string, read func(*bufio.Reader, *zip.File) error) error {
	part := p.parts[name]
	content, err := part.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	counted := bufio.NewReader(&budgeted{r: content, left: &p.budget, spent: errWordBomb})
	if err := read(counted, part); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, struct{ io.Reader }{counted})
	return err
}

var errWordBomb = wordInvalid("WORD_BOMB", "inflates to far more than a report; save it again from Word")

// budgeted is a reader that returns the error spent once more bytes were read than left.
type budgeted struct {
	r     io.Reader
	left  *int64
	spent error
}

func (b *budgeted) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, b.spent
	}
	return n, err
}

var zipSignature = []byte("PK\x03\x04")

// embedded checks parts that are files of their own. Office documents without macros are accepted, such as the workbook
// behind a chart; other archives are rejected.
func (p *officePackage) embedded(content *bufio.Reader, part *zip.File) error {
	head, _ := content.Peek(len(oldOffice)) // an error means a part shorter than both signatures
	isChunk := p.chunks[strings.ToLower(part.Name)]
	switch {
	case isChunk && !bytes.HasPrefix(head, zipSignature):
		return chunk(content)
	case bytes.HasPrefix(head, oldOffice):
		return scanOldOffice(content)
	case p.merged && len(head) > 0 && strings.IndexByte("< \t\r\n\xef\xff\xfe", head[0]) >= 0: // XML may begin so
		return p.untyped(content)
	case !bytes.HasPrefix(head, zipSignature):
		return nil
	case p.depth >= maxEmbedded:
		return errArchive
	}
	inner, err := p.readEmbedded(content, part)
	if err != nil {
		return err
	}
	nested, err := openPackage(bytes.NewReader(inner), int64(len(inner)))
	if err != nil || nested.parts[contentTypes] == nil {
		return errArchive
	}
	nested.depth, nested.budget, nested.memory = p.depth+1, p.budget, p.memory-len(inner)
	if err := nested.index(); err != nil {
		return err
	}
	nested.merged = isChunk && strings.HasPrefix(nested.typeOf(nested.main), typeWordML)
	err = nested.all()
	p.budget = nested.budget
	p.facts.Tracked = p.facts.Tracked || nested.facts.Tracked
	return err
}

const (
	maxEmbedded      = 2        // maximum nesting of embedded documents
	maxEmbeddedBytes = 16 << 20 // maximum per embedded document, because it is kept in memory

	// maxMemory covers the embedded documents that are open at the same time, and all content types.
	maxMemory = maxEmbedded*maxEmbeddedBytes + 4<<20
)

var errArchive = wordInvalid("WORD_NESTED_ARCHIVE", "contains an archive; remove the embedded file")

func (p *officePackage) readEmbedded(content io.Reader, part *zip.File) ([]byte, error) {
	if part.UncompressedSize64 > uint64(min(p.memory, maxEmbeddedBytes)) {
		return nil, wordInvalid("WORD_EMBEDDED_TOO_LARGE",
			"contains an embedded file of more than 16 MB; remove it, or insert a picture of it")
	}
	inner := make([]byte, part.UncompressedSize64)
	_, err := io.ReadFull(content, inner)
	return inner, err
}

// reportProperty is the name of the custom property that holds the report's id.
const reportProperty = "lab_report_id"

// properties reads the report's id from the custom properties.
type properties struct {
	found *int64
	ours  bool
	value []byte
}

func (p *properties) start(e *element) error {
	if e.local == "property" {
		p.ours, p.value = e.attr("name") == reportProperty, p.value[:0]
	}
	return nil
}

func (p *properties) text(text []byte) error {
	const most = 32
	if p.ours && len(p.value)+len(text) <= most {
		p.value = append(p.value, text...)
	}
	return nil
}

func (p *properties) end(local string) error {
	if p.ours && local == "property" {
		*p.found, _ = strconv.ParseInt(string(bytes.TrimSpace(p.value)), 10, 64) // 0: a property of that name by someone else
		p.ours = false
	}
	return nil
}

// damaged returns rejections unchanged and wraps other errors, which the archive reader returns about the file.
func damaged(err error) error {
	if refused, ok := apperr.From(err); ok {
		return refused
	}
	return wordInvalid("WORD_DAMAGED", "is damaged: a part of it cannot be read").WithCause(err)
}

func wordInvalid(reason, problem string) *apperr.Error { return Word.invalid(reason, problem) }

// maxDirectory limits the bytes read for the list of parts, before the parts can be counted. Each entry needs several
// times its size in memory.
const maxDirectory = 2 << 20

// limitedDirectory is a reader that fails once too many bytes were read for the list of parts. left is then negative.
type limitedDirectory struct {
	io.ReaderAt
	left int64
	read bool // the list of parts was read; the content of parts has its own limit
}

var errDirectory = errors.New("the list of parts is too long")

func (l *limitedDirectory) ReadAt(p []byte, at int64) (int, error) {
	if !l.read {
		if l.left -= int64(len(p)); l.left < 0 {
			return 0, errDirectory
		}
	}
	return l.ReaderAt.ReadAt(p, at)
}

// watched stores an error of the source, so that it is not reported as a damaged file.
type watched struct {
	io.ReaderAt
	err error
}

var _ io.ReaderAt = (*watched)(nil)

func (w *watched) ReadAt(p []byte, offset int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
