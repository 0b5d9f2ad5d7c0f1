package document_test

import (
	"archive/zip"
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

const (
	wordSpace   = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	officeSpace = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	strictSpace = "http://purl.oclc.org/ooxml/officeDocument/relationships"
	relsSpace   = "http://schemas.openxmlformats.org/package/2006/relationships"
	wordType    = "application/vnd.openxmlformats-officedocument.wordprocessingml."
)

// override returns the list of content types with additional parts.
func override(pairs ...string) string {
	list := storetest.Parts("")[0][1]
	for i := 0; i < len(pairs); i += 2 {
		list = strings.Replace(list, "</Types>", `<Override PartName="`+pairs[i]+`" ContentType="`+pairs[i+1]+`"/></Types>`, 1)
	}
	return list
}

// external returns a relationships part with one external relationship.
func external(kind, target string) string {
	return `<Relationships xmlns="` + relsSpace + `"><Relationship Id="rId1" Type="` + officeSpace + "/" + kind +
		`" Target="` + target + `" TargetMode="External"/></Relationships>`
}

// document2 returns a document whose main part is named as Word Online names it.
func document2(t *testing.T, kind string) []byte {
	return storetest.Docx(t, "", "word/document.xml", "-",
		"[Content_Types].xml", override("/word/document2.xml", wordType+kind),
		"_rels/.rels", `<Relationships xmlns="`+relsSpace+`"><Relationship Id="x" Type="`+officeSpace+
			`/officeDocument" Target="/word/document2.xml"/></Relationships>`,
		"word/document2.xml", `<w:document xmlns:w="`+wordSpace+`"/>`)
}

// merging returns a document into which Word merges a file.
func merging(t *testing.T, name, content string) []byte {
	return storetest.Docx(t, "x", "word/"+name, content, "word/_rels/document.xml.rels", `<Relationships xmlns="`+relsSpace+
		`"><Relationship Id="r" Type="`+officeSpace+`/aFChunk" Target="`+name+`"/></Relationships>`)
}

// strictDocument returns a document saved as "Strict Open XML".
func strictDocument(t *testing.T) []byte {
	return storetest.Docx(t, "", "_rels/.rels", `<Relationships xmlns="`+relsSpace+`"><Relationship Id="x" Type="`+
		strictSpace+`/officeDocument" Target="word/document.xml"/></Relationships>`, "word/document.xml",
		`<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"/>`)
}

const (
	begin = `<w:r><w:fldChar w:fldCharType="begin"/></w:r>`
	end   = `<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>x</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
)

func instruction(text string) string {
	return `<w:r><w:instrText xml:space="preserve">` + text + `</w:instrText></w:r>`
}

func field(parts ...string) string {
	text := `<w:p>` + begin
	for _, part := range parts {
		text += instruction(part)
	}
	return text + end + `</w:p>`
}

func TestWhatADocumentIsFollowsFromItsStructure(t *testing.T) {
	t.Parallel()
	const rels = "word/_rels/settings.xml.rels"
	remoteTemplate := external("attachedTemplate", "https://evil.example/x.dotm")
	settings := func(kind, target string) []byte {
		return storetest.Docx(t, "x", rels, external(kind, target))
	}
	book := string(storetest.Docx(t, "book"))
	macroBook := string(storetest.Docx(t, "book", "xl/vbaProject.bin", "x"))
	renamedMacros := string(storetest.Docx(t, "book", "[Content_Types].xml", override("/xl/notes.bin",
		"application/vnd.ms-office.vbaProject"), "xl/notes.bin", "x"))
	entry := make([]byte, 128)
	copy(entry, "V\x00B\x00A\x00")
	entry[64], entry[66] = 8, 1
	oldBook := "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 504)
	utf16 := "\xff\xfe"
	for _, c := range `<?xml version="1.0" encoding="UTF-16"?><w:document xmlns:w="` + wordSpace + `"/>` {
		utf16 += string([]byte{byte(c), 0})
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"another name of the main part": {document2(t, "document.main+xml"), ""},
		"a template":                    {document2(t, "template.main+xml"), "WORD_TEMPLATE"},
		"a strict document":             {strictDocument(t), ""},
		"a workbook": {storetest.Docx(t, "x", "[Content_Types].xml", strings.Replace(override(), "wordprocessingml.document",
			"spreadsheetml.sheet", 1)), "WORD_PART_MISSING"},
		"an empty main part":    {storetest.Docx(t, "x", "word/document.xml", ""), "WORD_DAMAGED"},
		"a main part cut short": {storetest.Docx(t, "x", "word/document.xml", "<w:document>"), "WORD_DAMAGED"},
		"a main part of text":   {storetest.Docx(t, "x", "word/document.xml", "hello"), "WORD_DAMAGED"},
		"another root":          {storetest.Docx(t, "x", "word/document.xml", "<document/>"), "WORD_DAMAGED"},
		"an unknown entity":     {storetest.Docx(t, "a&nbsp;b"), "WORD_DAMAGED"},
		"tags that cross":       {storetest.Docx(t, "<a><b></a></b>"), "WORD_DAMAGED"},
		"UTF-16":                {storetest.Docx(t, "", "word/document.xml", utf16), ""},
		"entities and sections": {storetest.Docx(t, `<!-- <w:ins> --><a b='1' c = "&amp;&#x41;"/>&lt;<![CDATA[<w:del>]]>`), ""},
		"an empty header": {storetest.Docx(t, "x", "[Content_Types].xml", override("/word/header1.xml", wordType+"header+xml"),
			"word/header1.xml", ""), ""},
		"DDE":                                  {storetest.Docx(t, field(" DDEAUTO c:\\\\x cmd")), "WORD_DDE"},
		"DDE in two runs":                      {storetest.Docx(t, field("D", "DE c:\\\\x")), "WORD_DDE"},
		"DDE as a simple field":                {storetest.Docx(t, `<w:fldSimple w:instr="&#68;DE x y"/>`), "WORD_DDE"},
		"DDE in a header":                      {storetest.Docx(t, "x", "[Content_Types].xml", override("/word/h.xml", wordType+"header+xml"), "word/h.xml", `<w:hdr xmlns:w="`+wordSpace+`">`+field("dde x")+`</w:hdr>`), "WORD_DDE"},
		"DDE behind blanks":                    {storetest.Docx(t, field(strings.Repeat(" ", 600), "DDE x")), "WORD_DDE"},
		"DDE and a tab":                        {storetest.Docx(t, field("DDEAUTO\tc:\\\\x")), "WORD_DDE"},
		"DDE and a quote":                      {storetest.Docx(t, field(`DDEAUTO"c:\\x"`)), "WORD_DDE"},
		"DDE and a fixed blank":                {storetest.Docx(t, field("\u00a0DDEAUTO\u00a0c:\\\\x")), "WORD_DDE"},
		"a name made by a field":               {storetest.Docx(t, begin+field("QUOTE 68 68 69")+instruction(" c:\\x")+end), "WORD_FIELDS"},
		"a name finished by a field":           {storetest.Docx(t, begin+instruction("D")+field("QUOTE 68 69")+instruction(" x")+end), "WORD_FIELDS"},
		"a name finished by a simple field":    {storetest.Docx(t, begin+instruction("D")+`<w:fldSimple w:instr="QUOTE DE"/>`+end), "WORD_FIELDS"},
		"a field within a field":               {storetest.Docx(t, begin+instruction("IF ")+field("PAGE")+instruction(" = 1 a b")+end), ""},
		"a simple field behind blanks":         {storetest.Docx(t, `<w:fldSimple w:instr="`+strings.Repeat(" ", 2047)+`DDE x"/>`), "WORD_FIELDS"},
		"a simple field with two instructions": {storetest.Docx(t, `<w:fldSimple xmlns:x="urn:x" x:instr="PAGE" w:instr="DDE x"/>`), "WORD_DDE"},
		"an instruction with alternatives": {storetest.Docx(t, begin+`<x:Choice xmlns:x="urn:x">`+instruction("PAGE ")+
			`</x:Choice><x:Fallback xmlns:x="urn:x">`+instruction("DDE x")+`</x:Fallback>`+end), "WORD_FIELDS"},
		"fields as alternatives": {storetest.Docx(t, `<x:Choice xmlns:x="urn:x">`+field("PAGE ")+
			`</x:Choice><x:Fallback xmlns:x="urn:x">`+field("DATE")+`</x:Fallback>`), ""},
		"DDE in a header of another type": {storetest.Docx(t, "x", "word/h.xml", `<w:hdr xmlns:w="`+wordSpace+`">`+field("dde x")+`</w:hdr>`), "WORD_DDE"},
		"other XML":                       {storetest.Docx(t, "x", "word/h.xml", `<hdr><unfinished>`), ""},
		"a text about DDE":                {storetest.Docx(t, "<w:t>DDEAUTO</w:t>"+field(" PAGE ")), ""},
		"a linked field":                  {storetest.Docx(t, field(` LINK Excel.Sheet "C:\\\\b.xlsx" `)), "WORD_LINKED_OBJECT"},
		"a picture of another host": {storetest.Docx(t, field(` INCLUDEPICTURE "https://x.example/a.png" \\* MERGEFORMAT`)),
			"WORD_REMOTE_PICTURE"},
		"a picture of a share": {storetest.Docx(t, field(` INCLUDEPICTURE "\\\\server\\a.png"`)), "WORD_REMOTE_PICTURE"},
		"a picture of an e-mail": {storetest.Docx(t, field(`INCLUDEPICTURE "cid:image001.png@01D7" \* MERGEFORMATINET`),
			rels, external("image", "cid:image001.png@01D7")), ""},
		"a picture of the own disk": {storetest.Docx(t, field(` INCLUDEPICTURE "C:\\Users\\a.png"`)), ""},
		"a remote template":         {settings("attachedTemplate", "https://evil.example/x.dotm"), "WORD_REMOTE_TEMPLATE"},
		"a remote template that names its mode twice": {storetest.Docx(t, "x", rels, strings.Replace(remoteTemplate, "TargetMode",
			`x:TargetMode="Internal" xmlns:x="urn:x" TargetMode`, 1)), "WORD_REMOTE_TEMPLATE"},
		"a remote template of another type": {storetest.Docx(t, "x", "[Content_Types].xml", override("/"+rels, wordType+"styles+xml"),
			rels, remoteTemplate), "WORD_REMOTE_TEMPLATE"},
		"a template of a port":                   {settings("attachedTemplate", `file://host:80/x.dotm`), "WORD_REMOTE_TEMPLATE"},
		"a template of a drive":                  {settings("attachedTemplate", `file://C:/x.dotm`), ""},
		"a template of a share":                  {settings("attachedTemplate", `file:///\\server\x.dotx`), "WORD_REMOTE_TEMPLATE"},
		"the own template":                       {settings("attachedTemplate", `file:///C:\Users\Dr%20M\Templates\Normal.dotm`), ""},
		"the own template on a Mac":              {settings("attachedTemplate", `/Users/m/Normal.dotm`), ""},
		"a template by name":                     {settings("attachedTemplate", `Normal.dotm`), ""},
		"a link to click":                        {settings("hyperlink", "https://slides.example.org/Launch/123"), ""},
		"a linked picture":                       {settings("image", "https://x.example/a.png"), "WORD_REMOTE_PICTURE"},
		"a linked picture of a host":             {settings("image", "file://server/a.png"), "WORD_REMOTE_PICTURE"},
		"a picture on the own disk":              {settings("image", "file:///C:/a.png"), ""},
		"a linked object":                        {settings("oleObject", `file:///C:\b.xlsx`), "WORD_LINKED_OBJECT"},
		"a linked object of a page":              {settings("oleObject", "mhtml:https://x.example/x.html!x-usc:y"), "WORD_LINKED_OBJECT"},
		"a frame of another host":                {settings("frame", "https://x.example"), "WORD_LINKED_OBJECT"},
		"an embedded drawing":                    {storetest.Docx(t, "x", "word/embeddings/Drawing1.vsdx", book), ""},
		"an embedded binary workbook":            {storetest.Docx(t, "x", "word/embeddings/Book1.xlsb", book), ""},
		"an altChunk":                            {storetest.Docx(t, "x", "word/afchunk1.docx", book), ""},
		"a merged document":                      {merging(t, "a.docx", book), ""},
		"DDE in a merged document":               {merging(t, "a.docx", string(storetest.Docx(t, field("DDE x")))), "WORD_DDE"},
		"DDE in a document that is merged twice": {merging(t, "a.docx", string(merging(t, "b.docx", string(storetest.Docx(t, field("DDE x")))))), "WORD_DDE"},
		"a remote template of a merged document": {merging(t, "a.docx", string(settings("attachedTemplate", "https://x.example/x.dotm"))),
			"WORD_REMOTE_TEMPLATE"},
		"DDE in an embedded document":  {storetest.Docx(t, "x", "word/embeddings/a.docx", string(storetest.Docx(t, field("DDE x")))), ""},
		"merged RTF":                   {merging(t, "a.rtf", `{\rtf1{\field{\*\fldinst DDEAUTO cmd}}}`), "WORD_MERGED_FILE"},
		"merged HTML":                  {merging(t, "a.htm", `<p>see <a href="https://x.example">x</a></p>`), ""},
		"merged HTML with a picture":   {merging(t, "a.htm", `<img SRC = "//x.example/a.png">`), "WORD_MERGED_FILE"},
		"merged MHT with a picture":    {merging(t, "a.mht", "<img s=72=\r\nc=3D'https://x.example/a.png'>"), "WORD_MERGED_FILE"},
		"macros in a workbook":         {storetest.Docx(t, "x", "word/embeddings/Book1.xlsx", macroBook), "WORD_MACRO"},
		"macros under another name":    {storetest.Docx(t, "x", "word/embeddings/Book1.xlsx", renamedMacros), "WORD_MACRO"},
		"an old workbook":              {storetest.Docx(t, "x", "word/embeddings/o.bin", oldBook), ""},
		"macros in an old workbook":    {storetest.Docx(t, "x", "word/embeddings/o.bin", oldBook+string(entry)), "WORD_MACRO"},
		"a document in one in another": {storetest.Docx(t, "x", "a.docx", string(storetest.Docx(t, "x", "b.docx", book))), ""},
		"and once more": {storetest.Docx(t, "x", "a.docx", string(storetest.Docx(t, "x", "b.docx",
			string(storetest.Docx(t, "x", "c.docx", book))))), "WORD_NESTED_ARCHIVE"},
	} {
		if got := reason(checkWord(c.content)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func facts(t *testing.T, content []byte) document.Facts {
	t.Helper()
	f, err := document.ReadWord(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTrackedChangesAreFoundInEveryPart(t *testing.T) {
	t.Parallel()
	inserted := `<w:p><w:ins w:id="1" w:author="A"><w:r><w:t>x</w:t></w:r></w:ins></w:p>`
	in := func(part, kind string) []byte {
		return storetest.Docx(t, "x", "[Content_Types].xml", override("/word/"+part, wordType+kind+"+xml"), "word/"+part,
			`<w:x xmlns:w="`+wordSpace+`">`+inserted+`</w:x>`)
	}
	for name, c := range map[string]struct {
		content []byte
		want    bool
	}{
		"none":                 {storetest.Docx(t, "<w:p/>"), false},
		"an insertion":         {storetest.Docx(t, inserted), true},
		"a deletion":           {storetest.Docx(t, `<w:del w:id="1"><w:r><w:delText>x</w:delText></w:r></w:del>`), true},
		"a move":               {storetest.Docx(t, `<w:moveFrom w:id="1"/><w:moveTo w:id="2"/>`), true},
		"a deleted paragraph":  {storetest.Docx(t, `<w:p><w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr></w:p>`), true},
		"a deleted row":        {storetest.Docx(t, `<w:tr><w:trPr><w:del w:id="1"/></w:trPr></w:tr>`), true},
		"another prefix":       {storetest.Docx(t, `<x:ins xmlns:x="`+wordSpace+`"/>`), true},
		"another namespace":    {storetest.Docx(t, `<x:ins xmlns:x="urn:x"/><ins/>`), false},
		"a text box":           {storetest.Docx(t, `<w:pict><v:textbox xmlns:v="urn:v"><w:txbxContent>`+inserted+`</w:txbxContent></v:textbox></w:pict>`), true},
		"formatting":           {storetest.Docx(t, `<w:rPr><w:rPrChange w:id="1"/></w:rPr><w:pPrChange w:id="2"/>`), false},
		"marks of a past move": {storetest.Docx(t, `<w:moveFromRangeStart w:id="1"/><w:moveFromRangeEnd w:id="1"/>`), false},
		"recording is on": {storetest.Docx(t, "x", "[Content_Types].xml", override("/word/s.xml", wordType+"settings+xml"), "word/s.xml",
			`<w:settings xmlns:w="`+wordSpace+`"><w:trackRevisions/></w:settings>`), false},
		"a comment":                {in("comments.xml", "comments"), false},
		"a header":                 {in("header1.xml", "header"), true},
		"a footer":                 {in("footer1.xml", "footer"), true},
		"a header of another type": {storetest.Docx(t, "x", "word/h.xml", `<w:hdr xmlns:w="`+wordSpace+`">`+inserted+`</w:hdr>`), true},
		"a footnote":               {in("footnotes.xml", "footnotes"), true},
		"an endnote":               {in("endnotes.xml", "endnotes"), true},
		"a merged document":        {merging(t, "a.docx", string(storetest.Docx(t, inserted))), true},
		"an embedded document":     {storetest.Docx(t, "x", "word/embeddings/a.docx", string(storetest.Docx(t, inserted))), false},
		"a part that is no text":   {storetest.Docx(t, "x", "customXml/item1.xml", `<w:ins xmlns:w="`+wordSpace+`"/>`), false},
	} {
		if got := facts(t, c.content).Tracked; got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

// partsOf returns the content of all parts by name.
func partsOf(t *testing.T, content []byte) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, part := range r.File {
		from, err := part.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		parts[part.Name] = string(text)
	}
	return parts
}

func copyFor(t *testing.T, report int64, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := document.CopyFor(report, &b, bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestACopyCarriesTheReportAndNothingElseChanges(t *testing.T) {
	t.Parallel()
	custom := func(text string) []byte {
		return storetest.Docx(t, "hello", "word/media/a.png", "\x89PNG", "docProps/props.xml", text,
			"[Content_Types].xml", override("/docProps/props.xml", "application/vnd.openxmlformats-officedocument.custom-properties+xml"),
			"_rels/.rels", strings.Replace(storetest.Parts("")[1][1], "</R", `<Relationship Id="rIdLab" Type="`+officeSpace+
				`/custom-properties" Target="docProps/props.xml"/></R`, 1))
	}
	const space = "http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"
	for name, c := range map[string]struct {
		content []byte
		changed []string
	}{
		"without properties": {storetest.Docx(t, "hello", "word/media/a.png", "\x89PNG"),
			[]string{"[Content_Types].xml", "_rels/.rels", "docProps/custom.xml"}},
		"with properties": {custom(`<Properties xmlns="` + space + `"><property pid="7" name="a"><x/></property></Properties>`),
			[]string{"docProps/props.xml"}},
		"with empty properties": {custom(`<?xml version="1.0"?><p:Properties xmlns:p="` + space + `" />`),
			[]string{"docProps/props.xml"}},
		"of another report, saved as a strict document": {copyFor(t, 7003, strictDocument(t)), []string{"docProps/custom.xml"}},
		"of another report":                             {copyFor(t, 7003, storetest.Docx(t, "hello")), []string{"docProps/custom.xml"}},
		"of another report, changed by Word": {custom(`<Properties xmlns="` + space + `"><property pid="2" name="lab_report_id"><x>7003</x>` +
			`</property><property pid="3" name="b"/></Properties>`), []string{"docProps/props.xml"}},
	} {
		copied := copyFor(t, 7001, c.content)
		if got := facts(t, copied).ReportID; got != 7001 {
			t.Errorf("%s: the copy is of report %d", name, got)
		}
		before, after := partsOf(t, c.content), partsOf(t, copied)
		var changed []string
		for _, part := range slices.Sorted(maps.Keys(after)) {
			if before[part] != after[part] {
				changed = append(changed, part)
			}
		}
		if !slices.Equal(changed, c.changed) || len(before) > len(after) {
			t.Errorf("%s: changed %v, want %v", name, changed, c.changed)
		}
		if again := copyFor(t, 7001, copied); facts(t, again).ReportID != 7001 || len(partsOf(t, again)) != len(after) {
			t.Errorf("%s: a copy of the copy has %v", name, partsOf(t, again))
		}
		if strings.Contains(after["docProps/props.xml"]+after["docProps/custom.xml"], "7003") {
			t.Errorf("%s: the other report is still named", name)
		}
	}
	if got := partsOf(t, copyFor(t, 7001, strictDocument(t))); !strings.Contains(got["_rels/.rels"], strictSpace+"/customProperties") ||
		!strings.Contains(got["docProps/custom.xml"], "http://purl.oclc.org/ooxml/officeDocument/customProperties") {
		t.Errorf("the copy of a strict document is not strict: %v", got)
	}
	if got := facts(t, storetest.Docx(t, "hello")).ReportID; got != 0 {
		t.Errorf("a document without the property is of report %d", got)
	}
}

func TestWhatIsNoDocumentIsNotCopied(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"nothing": nil, "text": []byte("PK\x03\x04"), "no main part": storetest.Docx(t, "x", "word/document.xml", "-"),
	} {
		if err := document.CopyFor(7001, io.Discard, bytes.NewReader(content), int64(len(content))); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}

func TestTheFinalViewReplacesTheViewOfTheSettings(t *testing.T) {
	t.Parallel()
	settings := func(view string) string {
		return `<w:settings xmlns:w="` + wordSpace + `"><w:zoom/>` + view + `<w:trackRevisions/></w:settings>`
	}
	const final = `<w:revisionView xmlns:w="` + wordSpace + `" w:markup="0"/>`
	want := strings.Replace(settings(""), "<w:zoom", final+"<w:zoom", 1)
	for _, view := range []string{"", `<w:revisionView w:markup="1"/>`, `<w:revisionView w:markup="1"></w:revisionView><w:revisionView/>`} {
		content := storetest.Docx(t, "x", "word/settings.xml", settings(view), "word/_rels/document.xml.rels", `<Relationships xmlns="`+
			relsSpace+`"><Relationship Id="r" Type="`+officeSpace+`/settings" Target="settings.xml"/></Relationships>`)
		var b bytes.Buffer
		if err := document.FinalView(&b, bytes.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
		if got := partsOf(t, b.Bytes())["word/settings.xml"]; got != want {
			t.Errorf("%s: %s", view, got)
		}
	}
	var b bytes.Buffer
	strict := strictDocument(t)
	if err := document.FinalView(&b, bytes.NewReader(strict), int64(len(strict))); err != nil {
		t.Fatal(err)
	}
	if got := partsOf(t, b.Bytes()); !strings.Contains(got["word/settings.xml"], "http://purl.oclc.org/ooxml/wordprocessingml/main") {
		t.Errorf("a strict document gets %v", got)
	}
}
