package seal_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/seal"
)

func key(filler byte) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{filler}, 32)) + "\n")}
}

func ring(t *testing.T, files fstest.MapFS) *seal.Ring {
	t.Helper()
	r, err := seal.NewRing(files)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func otp() *job.Body {
	return &job.Body{Task: 1, LabID: 12, Data: []byte(`{"contact":9812345678,"message":"Your code is 135790","callback_url":"https://a.example/cb"}`),
		Headers: []byte(`{"Authorization":"Bearer s3cret"}`)}
}

func sealed(r *seal.Ring) *job.Body {
	b := otp()
	r.Seal(b, job.SMS)
	return b
}

func TestNothingOfAPayloadIsReadableAndItComesBackAsItWas(t *testing.T) {
	t.Parallel()
	r := ring(t, fstest.MapFS{"2026-11": key(1), "..data": {Data: []byte("of kubernetes")}})
	b := sealed(r)
	stored := b.Encode(nil)
	for _, secret := range []string{"9812345678", "135790", "s3cret", "Bearer"} {
		if bytes.Contains(stored, []byte(secret)) {
			t.Errorf("%s is readable", secret)
		}
	}
	again, err := job.DecodeBody(stored)
	if err != nil {
		t.Fatal(err)
	}
	if urls := job.CallbackURLs(job.Lane{Channel: job.SMS}, again, job.Failed); !cmp.Equal(urls, []string{"https://a.example/cb"}) {
		t.Errorf("who is told of a job that stays sealed: %v", urls)
	}
	if err := r.Open(again); err != nil {
		t.Fatal(err)
	}
	want := otp()
	want.CallbackTo = "https://a.example/cb"
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("opened (-want +got):\n%s", diff)
	}
	if bytes.Equal(sealed(r).Sealed, sealed(r).Sealed) {
		t.Error("equal payloads look alike")
	}
}

func TestAKeyIsRotatedByAddingAFileAndTheOldOneOpensUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"2026-11": key(1)}
	one, other := ring(t, files), ring(t, files)
	before := sealed(one)
	files["2026-12"] = key(2)
	if err := one.Reload(); err != nil {
		t.Fatal(err)
	}
	after := sealed(one)
	if err := other.Open(copyOf(after)); err != nil { // a process without the new key reads the keys again
		t.Errorf("the new key: %v", err)
	}
	if err := one.Open(copyOf(before)); err != nil {
		t.Errorf("the old key: %v", err)
	}
	delete(files, "2026-11")
	if err := one.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := one.Open(copyOf(before)); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("a removed key: %v", err)
	}
	if err := one.Open(copyOf(after)); err != nil {
		t.Error(err)
	}
}

func copyOf(b *job.Body) *job.Body {
	c := *b
	return &c
}

func TestASealedPayloadOpensInNoJobOfAnotherLaboratoryAndNotDamaged(t *testing.T) {
	t.Parallel()
	r := ring(t, fstest.MapFS{"k": key(1)})
	moved, damaged, cut := sealed(r), sealed(r), sealed(r)
	moved.LabID = 13
	damaged.Sealed[len(damaged.Sealed)-1] ^= 1
	cut.Sealed = cut.Sealed[:len(cut.Sealed)/2]
	for name, b := range map[string]*job.Body{"moved": moved, "damaged": damaged, "cut": cut} {
		if err := r.Open(b); err == nil || errors.Is(err, seal.ErrNoKey) || len(b.Data) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithoutARingNothingIsSealedAndSealedJobsWait(t *testing.T) {
	t.Parallel()
	var none *seal.Ring
	b := otp()
	none.Seal(b, job.SMS)
	if err := none.Open(b); err != nil || !cmp.Equal(b, otp()) {
		t.Errorf("%+v, %v", b, err)
	}
	if err := none.Open(sealed(ring(t, fstest.MapFS{"k": key(1)}))); !errors.Is(err, seal.ErrNoKey) {
		t.Error(err)
	}
}

func TestWrongKeysAreNamedAndNeverShown(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"there is no key": {}, "key short": {"short": {Data: []byte("c2hvcnQtc2VjcmV0")}}, "key words": {"words": {Data: []byte("not base64 at all!")}},
	} {
		_, err := seal.NewRing(files)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "c2hv") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
