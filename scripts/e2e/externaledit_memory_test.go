package e2e

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/labplatform/labplatform/pkg/testkit/await"
)

// Limits of memory in MiB.
const (
	mostForOne    = 100
	chartLimit    = 512 // limits.memory of charts/externaledit; GOMEMLIMIT is nine tenths of it
	mostOfGateway = 32
)

// TestExternalEditHostileFilesCostLittleMemory sends each file to newly started processes, once and three times
// concurrently, and checks their peak memory. Production stores objects over S3, whose driver buffers parts of objects; a
// folder, which buffers nothing, is tested with LAB_LONG_TESTS.
func TestExternalEditHostileFilesCostLittleMemory(t *testing.T) {
	stores := []string{"S3"}
	if os.Getenv("LAB_LONG_TESTS") != "" {
		stores = append(stores, "folder")
	}
	for name, files := range hostileForms(t) {
		body, contentType := formOf(files)
		for _, store := range stores {
			t.Run(store+"/"+name, func(t *testing.T) {
				for _, uploads := range []int{1, 3} {
					c := startCosts(t, store, nil)
					c.upload(t, uploads, body, contentType)
					grown, gateway := c.service.peak(t)-c.before, c.gateway.peak(t)-c.gatewayBefore
					t.Logf("%d at once: %d MiB above the %d of the start, gateway %d", uploads, grown, c.before, gateway)
					if grown > mostForOne*uploads || grown+c.before > chartLimit*9/10 {
						t.Errorf("%d at once cost %d MiB, want at most %d for one and less than the chart allows", uploads, grown, mostForOne)
					}
					if gateway > mostOfGateway {
						t.Errorf("%d at once cost the gateway %d MiB, want at most %d", uploads, gateway, mostOfGateway)
					}
					c.stop()
				}
			})
		}
	}
}

// TestExternalEditAsManyUploadsAsItTakesFitIntoTheChartsMemory sends as many concurrent uploads as one laboratory may;
// the limit leaves a quarter to others. They must fit into the chart's memory.
func TestExternalEditAsManyUploadsAsItTakesFitIntoTheChartsMemory(t *testing.T) {
	noise := make([]byte, 16<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	streams := objectStreams(6, slices.Concat([]byte("1 0 <<>> "), make([]byte, 4<<20-32)))
	body, contentType := formOf([]formFile{
		{"word_file", "report.docx", wordType, docx(t, "x", "word/media/a.png", string(noise))},
		{"pdf_file", "report.pdf", "application/pdf", streams},
	})
	c := startCosts(t, "S3", map[string]string{"EXTERNAL_EDIT_MAX_UPLOADS": "16", "GOMEMLIMIT": "460MiB"})
	c.upload(t, 12, body, contentType)
	peak := c.service.peak(t)
	t.Logf("12 at once: a peak of %d MiB", peak)
	if peak > chartLimit {
		t.Errorf("a peak of %d MiB, want at most %d", peak, chartLimit)
	}
}

// TestExternalEditMoreUploadsThanItTakesAreRefusedWithARetryTime keeps the only upload that a process accepts open: the
// next one gets 503 with Retry-After, other calls are served, and an upload succeeds once the first has ended.
func TestExternalEditMoreUploadsThanItTakesAreRefusedWithARetryTime(t *testing.T) {
	c := startCosts(t, "folder", map[string]string{"EXTERNAL_EDIT_MAX_UPLOADS": "1"})
	body, contentType := formOf(savedPair(t, "x"))
	first, firstToken := openSession(t, editor(t, 12, "report_edit"), editReport(t), creation)
	report, person := editReport(t), editor(t, 12, "report_edit")
	second, secondToken := openSession(t, person, report, creation)
	rest, write := io.Pipe()
	held := make(chan answer, 1)
	go func() {
		got, err := uploadBody(t.Context(), c.base, first, firstToken, contentType, io.MultiReader(bytes.NewReader(body[:200]), rest))
		if err != nil {
			t.Error(err)
		}
		held <- got
	}()
	await.True(t, "the first upload is under way", func() bool {
		var n int
		queryRow(t, "SELECT COUNT(*) FROM external_edit_upload WHERE session_id = ? AND revision > 0", first).scan(&n)
		return n == 1
	})
	next := func() answer {
		got, err := uploadBody(t.Context(), c.base, second, secondToken, contentType, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := next(); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("a second upload: %d %s, want 503 with a time", got.status, got.body)
	}
	if got := callAt(t, c.base, person, "GET", fmt.Sprintf("%s/%d", editPath, report), ""); got.status != 200 {
		t.Errorf("another call: %d %s, want 200", got.status, got.body)
	}
	_, _ = write.Write(body[200:])
	_ = write.Close()
	if got := <-held; got.status != 200 {
		t.Errorf("the first upload: %d %s, want 200", got.status, got.body)
	}
	if got := next(); got.status != 200 {
		t.Errorf("an upload after the first: %d %s, want 200", got.status, got.body)
	}
}

// hostileForms returns upload forms by name. Some are refused; the largest accepted ones must not cost more memory.
func hostileForms(t *testing.T) map[string][]formFile {
	t.Helper()
	word := func(content []byte) []formFile {
		return []formFile{{"word_file", "report.docx", wordType, content}, {"pdf_file", "report.pdf", "application/pdf", pdf("x")}}
	}
	pdfOf := func(content []byte) []formFile {
		return []formFile{{"word_file", "report.docx", wordType, docx(t, "x")}, {"pdf_file", "report.pdf", "application/pdf", content}}
	}
	noise := make([]byte, 49<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	zeros := strings.Repeat("\x00", 200<<20)
	bomb := docx(t, "x", "word/media/a.bmp", zeros)
	header := savedPair(t, "x")
	header[0].name = strings.Repeat("a", 8<<20) + ".docx"
	return map[string][]formFile{
		"a list of a million parts": word(manyParts(1_000_000)),
		"an archive that inflates to 200 MiB, in another": word(docx(t, "x", "word/embeddings/book.xlsx", string(bomb),
			"word/media/b.bmp", zeros)),
		"a part of 100 MiB of XML":      word(docx(t, strings.Repeat("<w:p/>", 100<<20/6), "word/media/a.png", string(noise[:5<<20]))),
		"a PDF that inflates":           pdfOf(objectStreams(4, deflate(t, bytes.Repeat([]byte("1 0 <<>> "), 2<<20)))),
		"a PDF of object streams":       pdfOf(objectStreams(24, slices.Concat([]byte("1 0 <<>> "), make([]byte, 4<<20-32)))),
		"a part with a header of 8 MiB": header,
		"the largest pair": {{"word_file", "report.docx", wordType, docx(t, "x", "word/media/a.png", string(noise))},
			{"pdf_file", "report.pdf", "application/pdf", pdf(strings.Repeat("x", 99<<20))}},
	}
}

// manyParts returns an archive whose directory has n entries but no content.
func manyParts(n int) []byte {
	header := []byte("PK\x03\x04" + strings.Repeat("\x00", 26))
	entry := append([]byte("PK\x01\x02"), make([]byte, 42)...)
	binary.LittleEndian.PutUint16(entry[28:], 1)
	entry = append(entry, 'a')
	end := append([]byte("PK\x05\x06"), make([]byte, 18)...)
	binary.LittleEndian.PutUint16(end[8:], uint16(n))
	binary.LittleEndian.PutUint16(end[10:], uint16(n))
	binary.LittleEndian.PutUint32(end[12:], uint32(n*len(entry)))
	binary.LittleEndian.PutUint32(end[16:], uint32(len(header)))
	return slices.Concat(header, bytes.Repeat(entry, n), end)
}

func deflate(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// objectStreams returns a PDF with n object streams.
func objectStreams(n int, stream []byte) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i := range n {
		fmt.Fprintf(&b, "%d 0 obj <</Type /ObjStm /Length %d>>\nstream\n%s\nendstream endobj\n", i+2, len(stream), stream)
	}
	b.WriteString("trailer <</Root 1 0 R>>\n%%EOF\n")
	return b.Bytes()
}

// costs is a newly started service with a gateway, and their memory before the test.
type costs struct {
	service, gateway      *program
	before, gatewayBefore int // MiB
	base                  string
}

func startCosts(t *testing.T, store string, settings map[string]string) *costs {
	t.Helper()
	service := map[string]string{"EXTERNAL_EDIT_GRPC_PORT": freePort(t), "EXTERNAL_EDIT_ADMIN_PORT": freePort(t),
		"EXTERNAL_EDIT_FILES_PORT": freePort(t)}
	if store == "S3" {
		service["EXTERNAL_EDIT_BLOB_URL"] = startS3(t)
		service["AWS_ACCESS_KEY_ID"], service["AWS_SECRET_ACCESS_KEY"] = "id", "secret"
	}
	maps.Copy(service, settings)
	gateway := map[string]string{"GATEWAY_PORT": freePort(t), "GATEWAY_INTERNAL_PORT": freePort(t),
		"GATEWAY_ADMIN_PORT": freePort(t), "GATEWAY_EXTERNAL_EDIT_ADDR": "127.0.0.1:" + service["EXTERNAL_EDIT_GRPC_PORT"]}
	c := &costs{service: startProgram(t, "externaledit", "EXTERNAL_EDIT", service),
		gateway: startProgram(t, "gateway", "GATEWAY", gateway), base: "http://127.0.0.1:" + gateway["GATEWAY_PORT"]}
	await.Nil(t, "the service is ready", c.service.unready)
	await.Nil(t, "the gateway is ready", c.gateway.unready)
	c.before, c.gatewayBefore = c.service.peak(t), c.gateway.peak(t)
	return c
}

// startS3 starts an S3 object store in memory and returns the URL for the service's setting.
func startS3(t *testing.T) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(server.Close)
	return "s3://files?region=ap-south-1&use_path_style=true&endpoint=" + url.QueryEscape(server.URL)
}

// stop ends both processes and waits, so that they do not disturb the next ones.
func (c *costs) stop() {
	for _, p := range []*program{c.gateway, c.service} {
		p.terminate()
		_ = p.wait() // another test checks how it ends
	}
}

// upload sends the form n times concurrently, each to a session of its own.
func (c *costs) upload(t *testing.T, n int, body []byte, contentType string) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		id, token := openSession(t, editor(t, 12, "report_edit"), editReport(t), creation)
		all.Go(func() {
			got, err := uploadBody(t.Context(), c.base, id, token, contentType, bytes.NewReader(body))
			if err != nil || got.status >= 500 {
				t.Errorf("%d %s, error %v, want it judged", got.status, got.body, err)
			}
		})
	}
	all.Wait()
}

// peak returns the peak memory of the process in MiB.
func (p *program) peak(t *testing.T) int {
	t.Helper()
	return p.memory(t, "VmHWM") >> 10
}
