package document_test

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/labplatform/labplatform/services/externaledit/document"
	"github.com/labplatform/labplatform/services/externaledit/internal/store/storetest"
)

// scan writes the content to a scanner in pieces of n bytes.
func scan(content []byte, n int) error {
	scanner := &document.PDFScanner{}
	for len(content) > 0 {
		piece := content[:min(n, len(content))]
		if _, err := scanner.Write(piece); err != nil {
			return err
		}
		content = content[len(piece):]
	}
	return scanner.Finish()
}

func deflated(text string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// packed returns an object stream with additional entries in its dictionary.
func packed(entries, data string) string {
	first := 4
	if strings.HasPrefix(data, "6") {
		first = 8
	}
	if !strings.Contains(entries, "/First") {
		entries += fmt.Sprintf("/First %d", first)
	}
	return fmt.Sprintf("5 0 obj <</Type/ObjStm/N 1%s/Length %d>>\nstream\n%s\nendstream endobj", entries, len(data), data)
}

// storedFirst deflates text after begin, which is stored uncompressed and so stays readable.
func storedFirst(begin, text string) string {
	var b bytes.Buffer
	b.WriteString("\x78\x01\x00" + string([]byte{byte(len(begin)), 0, ^byte(len(begin)), 255}) + begin)
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = io.WriteString(w, strings.Repeat(text, 3))
	_ = w.Close()
	return b.String()
}

func objectStream(text string) string {
	data := deflated(text)
	return fmt.Sprintf("5 0 obj <</Filter /FlateDecode /Type /ObjStm /N 1 /First 4 /Length %d>>\nstream\r\n%s\nendstream endobj", len(data), data)
}

// noise returns n bytes like those of a picture, which contain everything except relevant names.
func noise(n int) string {
	dice, b := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range b {
		b[i] = byte(dice.Uint32())
	}
	return string(b)
}

func TestPDFs(t *testing.T) {
	t.Parallel()
	const script = "<</S/JavaScript/JS(app.alert(1))>>"
	picture := "6 0 obj <</Subtype /Image /Length 3000000>>\nstream\n" + noise(3_000_000) + "\nendstream endobj"
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"plain": {"", ""},
		"links and pages": {"2 0 obj <</Type /Annot /A <</S /URI /URI (https://lab.example/JS)>>>> endobj",
			""},
		"a picture": {picture, ""},
		"words in a link": {"2 0 obj <</A <</S /URI /URI (https://x/Launch/1 /JavaScript /Encrypt/2 \\) /Launch)>>>> endobj",
			""},
		"words in a hexadecimal text":                  {"2 0 obj <</T <2F4A617661536372697074>>> endobj", ""},
		"words in a comment":                           {"2 0 obj % /Launch /JavaScript\n<<>> endobj", ""},
		"words in a page":                              {"2 0 obj <</Length 9>>\nstream\n(/Launch) Tj /JavaScript\nendstream endobj", ""},
		"words in a text of object stream":             {objectStream("4 0 <</T (a/JavaScript) /U <2F>>>"), ""},
		"a parenthesis between objects":                {"(\n3 0 obj <</S /Launch>> endobj", "PDF_LAUNCH"},
		"an object in a comment":                       {"% 3 0 obj <</S /Launch>> endobj", "PDF_LAUNCH"},
		"a name stored elsewhere":                      {"3 0 obj <</S 4 0 R>> endobj 4 0 obj /JavaScript endobj", "PDF_JAVASCRIPT"},
		"a rendition with a script":                    {"3 0 obj <</S/Rendition/JS(app.alert)>> endobj", "PDF_JAVASCRIPT"},
		"a rendition whose script is stored elsewhere": {"3 0 obj <</S/Rendition/JS 5 0 R>> endobj", "PDF_JAVASCRIPT"},
		"a font that is called JS":                     {"3 0 obj <</Font <</JS 5 0 R /EF 6 0 R>>>> endobj", ""},
		"an embedded file":                             {"3 0 obj <</Type/Filespec/F(a.exe)/EF<</F 4 0 R>>>> endobj", "PDF_EMBEDDED_FILE"},
		"an embedded file of an array":                 {"3 0 obj <</Type/Filespec/UF(a.exe)/EF 4 0 R>> endobj", "PDF_EMBEDDED_FILE"},
		"a stream of an embedded file":                 {"4 0 obj <</Type/EmbeddedFile>>stream\nMZ\nendstream endobj", "PDF_EMBEDDED_FILE"},
		"an object stream without its type": {strings.Replace(objectStream("4 0 <</S /Launch>>"), "/Type /ObjStm ", "", 1),
			"PDF_LAUNCH"},
		"an object stream that is encrypted": {"5 0 obj <</Type /ObjStm /N 1 /First 4>>\nstream\n" + noise(500) +
			"\nendstream endobj\ntrailer <</Encrypt 9 0 R>>", "PDF_ENCRYPTED"},
		"an object stream that is damaged": {"5 0 obj <</Type /ObjStm /N 1 /First 4>>\nstream\n" + noise(500) +
			"\nendstream endobj", "PDF_DAMAGED"},
		"an object stream":                            {objectStream("4 0 <</Type /Pages /JS_NOT 1>>"), ""},
		"names that begin alike":                      {"<</JavaScriptEngine 1 /Launcher 2 /EncryptMetadata true /ObjStmX 3>>", ""},
		"JavaScript":                                  {"3 0 obj <</S /JavaScript /JS (app.alert(1))>> endobj", "PDF_JAVASCRIPT"},
		"JavaScript behind a picture":                 {picture + "3 0 obj <</S/JavaScript/JS(x)>> endobj", "PDF_JAVASCRIPT"},
		"JavaScript spelt with #":                     {"3 0 obj <</S /J#61va#53cript>> endobj", "PDF_JAVASCRIPT"},
		"JavaScript in an object stream":              {objectStream("4 0 <</S /JavaScript /JS (x)>>"), "PDF_JAVASCRIPT"},
		"JavaScript in an object stream spelt with #": {objectStream("4 0 <</S /#4aavaScript>>"), "PDF_JAVASCRIPT"},
		"JavaScript hidden between stream marks": {"<<>>stream\n3 0 obj <</S /JavaScript>> endobj\nendstream",
			"PDF_JAVASCRIPT"},
		"JavaScript raw where an object stream should be": {"<</Type /ObjStm>>stream\n4 0 <</S /JavaScript>>\nendstream",
			"PDF_JAVASCRIPT"},
		"an object stream that is deflated twice":                {packed("/Filter[/FlateDecode/FlateDecode]", deflated(deflated("4 0 "+script))), "PDF_UNUSUAL"},
		"an object stream whose filter is stored elsewhere":      {packed("/Filter 7 0 R", fmt.Sprintf("%x", "4 0 "+script)), "PDF_UNUSUAL"},
		"an object stream whose first place is stored elsewhere": {packed("/First 7 0 R", "4 0 "+script[:20]), "PDF_UNUSUAL"},
		"an array of one filter":                                 {packed("/Filter[/FlateDecode]/DecodeParms[null]", deflated("4 0 <<>>")), ""},
		"an object stream as it is":                              {packed("", "4 0 <<>>"), ""},
		"JavaScript behind an open parenthesis":                  {packed("", "6 0 4 2 ( "+script), "PDF_DAMAGED"},
		"JavaScript behind a remark":                             {packed("", "6 0 4 2 % "+script), "PDF_DAMAGED"},
		"JavaScript behind a mark of the end":                    {packed("/Filter/FlateDecode", storedFirst("4 0 % endstream ( ", script)), "PDF_DAMAGED"},
		"JavaScript behind a mark of the end in a remark":        {packed("", "4 0 % endstream (\n"+script), "PDF_DAMAGED"},
		"an object within another one":                           {packed("", "6 0 4 9 <</S/JavaScr <<>>"), "PDF_DAMAGED"},
		"a launch action":                                        {"3 0 obj <</S /Launch /F (calc.exe)>> endobj", "PDF_LAUNCH"},
		"a launch action in an object stream": {objectStream(strings.Repeat("x", 100_000) + "<</S /Launch>>"),
			"PDF_LAUNCH"},
		"encrypted": {"trailer <</Encrypt 9 0 R>>", "PDF_ENCRYPTED"},
		"an object stream that is packed otherwise": {"<</Type /ObjStm /Filter /LZWDecode>>stream\n" + noise(500) +
			"\nendstream", "PDF_UNUSUAL"},
		"an object stream without end":            {"<</Type /ObjStm>>stream\n" + noise(500), "PDF_DAMAGED"},
		"an object stream that inflates for ever": {objectStream(strings.Repeat("<<>>    ", 10<<20)), "PDF_BOMB"},
		"an object stream of ten megabytes": {"<</Type /ObjStm>>stream\n" + noise(10<<20) + "\nendstream",
			"PDF_UNUSUAL"},
	} {
		for _, n := range []int{1 << 30, 64 << 10, 1000, 7} {
			if (n < 1000 && len(c.body) > 1<<20) || (n != 64<<10 && c.want == "PDF_BOMB") {
				continue
			}
			if got := reason(scan(storetest.PDF(c.body), n)); got != c.want {
				t.Errorf("%s in pieces of %d: %q, want %q", name, n, got, c.want)
			}
		}
	}
	if got := reason(scan([]byte("%PDF-1.7\n1 0 obj"), 5)); got != "PDF_INCOMPLETE" {
		t.Errorf("without its end: %q", got)
	}
	for text, want := range map[string]string{
		"%PDF-1.7\n%%EOF": "PDF_INCOMPLETE", // without an object
		"%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj\n%%EOF" + strings.Repeat("\x00", 5000):                  "", // scanned
		"%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj\nstartxref\n9\n":                                        "",
		"%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj\n%%EOF\n2 0 obj <</Length 9000>>stream\nan update, cut": "PDF_INCOMPLETE",
	} {
		if got := reason(scan([]byte(text), 100)); got != want {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
}

func TestAScannerMayBeFedByteByByte(t *testing.T) {
	t.Parallel()
	if got := reason(scan(storetest.PDF(objectStream("4 0 <</S /JavaScript>>")), 1)); got != "PDF_JAVASCRIPT" {
		t.Errorf("got %q, want PDF_JAVASCRIPT", got)
	}
}

// TestTheCheckOfAPDFIsLinear checks that a file of beginnings of object streams takes time in proportion to its size,
// not to the square of it.
func TestTheCheckOfAPDFIsLinear(t *testing.T) {
	t.Parallel()
	took := func(unit string) time.Duration {
		chunk := bytes.Repeat([]byte(unit), (256<<10)/len(unit))
		best := time.Hour
		for range 3 {
			s, begin := &document.PDFScanner{}, time.Now()
			for range 16 { // 4 MiB
				if _, err := s.Write(chunk); err != nil {
					t.Fatal(err)
				}
			}
			best = min(best, time.Since(begin))
		}
		return best
	}
	usual := took("/ObjStn ")
	for _, unit := range []string{"/ObjStm ", "/ObjStmsstrea"} {
		hostile := took(unit)
		t.Logf("4 MiB of %q take %v, of other names %v", unit, hostile, usual)
		if hostile > 4*usual {
			t.Error("the check costs more than its bytes")
		}
	}
}
