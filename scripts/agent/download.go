package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/labplatform/labplatform/services/externaledit/document"
)

const downloadTimeout = 10 * time.Minute // enough for the largest document on a slow line

var errTooLarge = errors.New("the document is larger than 50 MB, which the platform would not take back")

// download writes the content of a link to path, completely or not at all.
func (c client) download(ctx context.Context, link, path string) error {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("download the document: %w", problemOf(response))
	}
	part := path + ".part"
	if err := writeFile(part, response.Body); err != nil {
		return errors.Join(fmt.Errorf("download the document: %w", err), os.Remove(part))
	}
	return os.Rename(part, path)
}

// writeFile writes at most the platform's maximum size of a document and syncs the file.
func writeFile(path string, source io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(source, document.Word.MaxBytes+1))
	if err == nil && n > document.Word.MaxBytes {
		err = errTooLarge
	}
	return errors.Join(err, file.Sync(), file.Close())
}
