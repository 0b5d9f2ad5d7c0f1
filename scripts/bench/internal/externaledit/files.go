package externaledit

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/labplatform/labplatform/scripts/bench/internal/process"
	"github.com/labplatform/labplatform/scripts/bench/internal/report"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

const (
	wordBytes = 49 << 20
	pdfBytes  = 99 << 20
	atOnce    = 8
	boundary  = "bench-boundary-0123456789"
	wordType  = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
)

// files measures uploads of 49 and 99 MB beside a handler that copies the same body to disk, then eight concurrent
// uploads.
func files(ctx context.Context, r *report.Report, s *sandbox.Sandbox, l *laboratory, rounds int) error {
	dir := filepath.Join(s.Dir, "bench")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	form := filepath.Join(dir, "form")
	sums, err := writeForm(form)
	if err != nil {
		return err
	}
	address, stop, err := startPeer(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	if err := l.fresh(ctx); err != nil {
		return err
	}
	next := 0
	ours := func() (float64, error) {
		next++
		return l.upload(ctx, next-1, form)
	}
	theirs := func() (float64, error) { return l.sendForm(ctx, "http://"+address, form, "") }
	for _, warm := range []func() (float64, error){ours, theirs} {
		if _, err := warm(); err != nil {
			return err
		}
	}
	oursRuns, peerRuns, err := report.Alternate(rounds, ours, theirs)
	if err != nil {
		return err
	}
	r.Lower("upload_148mb_seconds", "s", oursRuns, "net/http to disk, synced", peerRuns)
	for _, name := range []string{"gateway", "externaledit"} {
		if err := process.ResetPeakRSS(s.Endpoints.PIDs[name]); err != nil {
			return err
		}
	}
	var group errgroup.Group
	for i := range atOnce {
		group.Go(func() error {
			_, err := l.upload(ctx, next+i, form)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	gateway, service, err := memory(s, process.PeakRSS)
	if err != nil {
		return err
	}
	r.Lower("rss_mib_8_uploads_gateway", "MiB", []float64{gateway}, "", nil)
	r.Lower("rss_mib_8_uploads_service", "MiB", []float64{service}, "", nil)
	return l.checkFiles(ctx, r, next+atOnce, sums)
}

// upload opens the session of report i, sends the form and returns the duration of the upload alone.
func (l *laboratory) upload(ctx context.Context, i int, form string) (float64, error) {
	token, err := l.create(ctx, i)
	if err != nil {
		return 0, err
	}
	return l.sendForm(ctx, fmt.Sprintf("%s%s/agent/%d", l.base, prefix, l.ids[i].Load()), form, token)
}

// sendForm posts the prepared form and returns its duration in seconds.
func (l *laboratory) sendForm(ctx context.Context, url, form, token string) (float64, error) {
	body, err := os.Open(form)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	info, err := body.Stat()
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return 0, err
	}
	request.ContentLength = info.Size()
	request.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	request.Header.Set("Authorization", "Bearer "+token)
	start := time.Now()
	_, err = l.Do(request)
	return time.Since(start).Seconds(), err
}

// checkFiles is the correctness gate: every upload is a revision with the files' own hashes.
func (l *laboratory) checkFiles(ctx context.Context, r *report.Report, want int, sums [2]string) error {
	var right int
	err := l.DB.QueryRowContext(ctx, `SELECT COUNT(*) FROM external_edit_revision r JOIN external_edit_session s ON s.id = r.session_id
WHERE s.lab_report_id >= ? AND r.word_sha256 = ? AND r.pdf_sha256 = ?`, l.first, sums[0], sums[1]).
		Scan(&right)
	if err != nil {
		return err
	}
	r.Correct("uploads_linked", right)
	if right != want {
		return fmt.Errorf("%d of %d uploads are linked with their own content", right, want)
	}
	return nil
}

// writeForm writes the multipart body of a save and returns the hashes of its files.
func writeForm(path string) (sums [2]string, err error) {
	file, err := os.Create(path)
	if err != nil {
		return sums, err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	form := multipart.NewWriter(out)
	if err := form.SetBoundary(boundary); err != nil {
		return sums, err
	}
	for i, f := range []struct {
		field, name, contentType string
		write                    func(io.Writer) error
	}{{"word_file", "report.docx", wordType, writeWord}, {"pdf_file", "report.pdf", "application/pdf", writePDF}} {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, f.field, f.name))
		header.Set("Content-Type", f.contentType)
		part, err := form.CreatePart(header)
		if err != nil {
			return sums, err
		}
		sum := sha256.New()
		if err := f.write(io.MultiWriter(part, sum)); err != nil {
			return sums, err
		}
		sums[i] = hex.EncodeToString(sum.Sum(nil))
	}
	return sums, errors.Join(form.Close(), out.Flush(), file.Close())
}

// noise is the content of pictures: bytes that do not compress.
type noise struct{ dice *rand.ChaCha8 }

func (n noise) Read(p []byte) (int, error) { return n.dice.Read(p) }

func pictures(seed byte) noise { return noise{rand.NewChaCha8([32]byte{seed})} }

// writeWord writes a document of text and pictures; Word stores pictures without compression.
func writeWord(w io.Writer) error {
	archive := zip.NewWriter(w)
	for _, p := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"` +
			` Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"/>`},
	} {
		part, err := archive.Create(p[0])
		if err != nil {
			return err
		}
		if _, err := io.WriteString(part, p[1]); err != nil {
			return err
		}
	}
	const count = 7
	for i := range count {
		part, err := archive.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("word/media/image%d.jpeg", i), Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := io.CopyN(part, pictures(byte(i)), (wordBytes-4096)/count); err != nil {
			return err
		}
	}
	return archive.Close()
}

func writePDF(w io.Writer) error {
	if _, err := io.WriteString(w,
		"%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\n2 0 obj <</Subtype /Image>>\nstream\n"); err != nil {
		return err
	}
	if _, err := io.CopyN(w, pictures(99), pdfBytes); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n")
	return err
}

// startPeer runs the bare handler in a process of its own.
func startPeer(ctx context.Context, dir string) (address string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	port, err := process.FreePort()
	if err != nil {
		return "", nil, err
	}
	address = fmt.Sprintf("127.0.0.1:%d", port)
	peer, err := process.Start(ctx, address, nil, self, "copier", address, dir)
	if err != nil {
		return "", nil, err
	}
	return address, peer.Stop, nil
}

// ServePeer copies each body to a file of its own and syncs it like the platform does, so that an acknowledged body
// survives a loss of power.
func ServePeer(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("copier takes an address and a folder")
	}
	server := &http.Server{Addr: args[0], Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := copyBody(args[1], r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func copyBody(dir string, body io.Reader) error {
	file, err := os.CreateTemp(dir, "copied")
	if err != nil {
		return err
	}
	if _, err = io.Copy(file, body); err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return syncFolder(dir)
}

func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
