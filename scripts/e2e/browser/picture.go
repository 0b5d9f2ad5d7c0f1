package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

const leastPicture = 5000 // in bytes; the picture of an empty page is smaller

// Screenshot stores a picture of the whole page of ctx in LAB_DIR/screenshots, for people to see.
func Screenshot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	if lab := os.Getenv("LAB_DIR"); lab != "" {
		dir = filepath.Join(lab, "screenshots")
	}
	keep(ctx, t, filepath.Join(dir, name))
}

// keep writes a picture of the whole page.
func keep(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil || len(picture) < leastPicture {
		t.Errorf("picture %s of %d bytes: %v", path, len(picture), err)
	}
}
