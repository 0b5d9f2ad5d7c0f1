package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/authn"
	"github.com/labplatform/labplatform/pkg/clock"
)

// disk is a folder store that records its syncs in order: the synced file or folder (a temporary file by its content),
// and the content that the object had under its own name at that time, or "absent".
type disk struct {
	*Bucket
	t     *testing.T
	root  string
	syncs []string
	fail  string // name of the sync that fails
}

const nowhere = "absent"

func newDisk(t *testing.T, key string) *disk {
	t.Helper()
	d := &disk{t: t, root: filepath.Join(t.TempDir(), "objects")}
	cfg := Config{URL: (&url.URL{Scheme: "file", Path: d.root}).String(), SigningSecret: "0123456789abcdef0123456789abcdef",
		PublicURL: "http://h/files"}
	var err error
	if d.Bucket, err = Open(t.Context(), cfg, clock.Fixed(time.Unix(0, 0))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	d.durable.sync = func(file *os.File) error { return d.note(file, key) }
	return d
}

func (d *disk) note(file *os.File, key string) error {
	name, err := filepath.Rel(d.root, file.Name())
	if err != nil {
		d.t.Error(err)
	}
	if strings.HasSuffix(name, temporary) {
		name = d.content(name) + " in a temporary file"
	}
	name += ", object " + d.content(key)
	d.syncs = append(d.syncs, name)
	if name == d.fail {
		return errors.New("no space left on the disk")
	}
	return file.Sync()
}

func (d *disk) content(name string) string {
	text, err := os.ReadFile(filepath.Join(d.root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nowhere
	}
	if err != nil {
		d.t.Error(err)
	}
	return string(text)
}

func (d *disk) lab(id int64) Lab {
	scope, err := authn.Principal{Kind: authn.Session, LabID: id}.Scope(0)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.Lab(scope)
}

const objectKey = "labs/12/reports/a.docx"

var (
	contentSynced = "new in a temporary file, object absent"
	namesSynced   = []string{"labs/12/reports, object new", "labs/12, object new", "labs, object new", "., object new"}
)

// The content must be synced before the rename, and the name and every folder above it before Put returns.
func TestAStoredFileSurvivesALossOfPower(t *testing.T) {
	t.Parallel()
	d := newDisk(t, objectKey)
	if _, err := d.lab(12).Put(t.Context(), objectKey, "", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{contentSynced}, namesSynced...), d.syncs); diff != "" {
		t.Error(diff)
	}
	const beside = "labs/12/reports/a.pdf"
	if _, err := d.lab(12).Put(t.Context(), beside, "", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	d.syncs = nil
	for _, key := range []string{objectKey, beside} { // a folder is deleted with its last file
		if err := d.lab(12).Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"labs/12/reports, object absent", "labs/12, object absent"}, d.syncs); diff != "" {
		t.Errorf("delete: %s", diff)
	}
	if _, err := os.Stat(filepath.Join(d.root, "labs/12/reports")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder is left: %v", err)
	}
	if err := d.lab(12).Delete(t.Context(), "labs/12/never/was.docx"); err != nil {
		t.Errorf("delete in a folder that never was: %v", err)
	}
}

// If syncing the content fails, the previous object must stay. If syncing the name fails, Put must return an error as
// well.
func TestADiskThatFailsToSyncStoresNothing(t *testing.T) {
	t.Parallel()
	for _, fail := range slices.Concat([]string{"new in a temporary file, object old"}, namesSynced) {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, objectKey)
			if _, err := d.lab(12).Put(t.Context(), objectKey, "", strings.NewReader("old")); err != nil {
				t.Fatal(err)
			}
			d.fail = fail
			if _, err := d.lab(12).Put(t.Context(), objectKey, "", strings.NewReader("new")); err == nil {
				t.Error("stored although the disk refused")
			}
			want := "new" // the file was renamed before
			if strings.HasSuffix(fail, "object old") {
				want = "old"
			}
			if got := d.content(objectKey); got != want {
				t.Errorf("the object is %q, want %q", got, want)
			}
			if left, err := filepath.Glob(filepath.Join(d.root, objectKey) + ".*"); err != nil || len(left) > 0 {
				t.Errorf("left beside it: %v, error %v", left, err)
			}
		})
	}
}

// An object that can be made again is complete or missing after a loss of power: its bytes are synced, its name is not.
func TestATransientFileMayLoseItsNameAlone(t *testing.T) {
	t.Parallel()
	d := newDisk(t, objectKey)
	if _, err := d.lab(12).PutTransient(t.Context(), objectKey, "", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{contentSynced}, d.syncs); diff != "" {
		t.Errorf("synced (-want +got):\n%s", diff)
	}
}

// A source that fails late must cost no disk time: nothing is synced.
func TestABrokenSourceSyncsNothing(t *testing.T) {
	t.Parallel()
	d := newDisk(t, objectKey)
	ctx, cancel := context.WithCancel(t.Context())
	source := io.MultiReader(strings.NewReader("new"), brokenReader{cancel})
	if _, err := d.lab(12).Put(ctx, objectKey, "", source); err == nil {
		t.Error("stored a part")
	}
	if len(d.syncs) > 0 {
		t.Errorf("synced %v", d.syncs)
	}
}

type brokenReader struct{ cancel func() }

func (b brokenReader) Read([]byte) (int, error) { b.cancel(); return 0, io.ErrUnexpectedEOF }

// The folder of the store is created with its parents, and their names are synced.
func TestTheStoresOwnFolderIsDurable(t *testing.T) {
	t.Parallel()
	var synced []string
	base := t.TempDir()
	d := &durability{sync: func(f *os.File) error { synced = append(synced, f.Name()); return f.Sync() }}
	for range 2 {
		if err := d.makeRoot(filepath.Join(base, "lab", "objects")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{base, filepath.Join(base, "lab")}, synced); diff != "" {
		t.Error(diff)
	}
}
