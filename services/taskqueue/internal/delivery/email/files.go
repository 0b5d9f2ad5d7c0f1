package email

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labplatform/labplatform/pkg/netguard"
	"github.com/labplatform/labplatform/services/taskqueue/internal/delivery/provider"
	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
)

// Limits of the attachments of a message.
const (
	MaxFileBytes  = 10 << 20
	MaxTotalBytes = 20 << 20
	MaxFiles      = 10
	fetchTimeout  = 60 * time.Second
	maxName       = 120
)

type file struct {
	name    string
	kind    string // media type
	content []byte
}

// fetch downloads the attachments of a message. A missing or unreadable file is an error of the message, not of the
// provider.
func fetch(ctx context.Context, client *netguard.Client, urls []string, now time.Time) ([]file, error) {
	if len(urls) > MaxFiles {
		return nil, job.Permanent("too_many_files", fmt.Sprintf("A message has at most %d attachments", MaxFiles))
	}
	files := make([]file, 0, len(urls))
	total := 0
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil {
			return nil, job.Permanent("bad_file_url", "The URL of an attachment cannot be parsed")
		}
		content, err := get(ctx, client, u, now)
		if err != nil {
			return nil, err
		}
		if total += len(content); total > MaxTotalBytes {
			return nil, job.Permanent("files_too_large", "The attachments together are larger than 20 MiB")
		}
		name := fileName(u.Path, i)
		files = append(files, file{name: name, kind: sniff(name, content), content: content})
	}
	return files, nil
}

func get(ctx context.Context, client *netguard.Client, u *url.URL, now time.Time) ([]byte, error) {
	answer, err := client.Do(ctx, netguard.Request{Method: http.MethodGet, URL: u, Timeout: fetchTimeout})
	var refusal *netguard.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil, job.Permanent("file_refused", "The URL of an attachment is refused: "+refusal.Why)
	case err != nil:
		return nil, job.Retryable("file_unreachable", "An attachment cannot be fetched").WithCause(provider.Bare(err))
	case answer.Truncated:
		return nil, job.Permanent("file_too_large", "An attachment is larger than 10 MiB")
	case answer.Status == http.StatusOK && isPacked(answer.Header):
		return nil, job.Permanent("file_packed", "An attachment is compressed (Content-Encoding); store it without")
	case answer.Status == http.StatusOK:
		return answer.Body, nil
	}
	message := fmt.Sprintf("Fetching an attachment was answered %d", answer.Status)
	if f := job.AsFailure(provider.Status(answer, now, false, "")); !f.Permanent {
		return nil, job.Retryable("file_unreachable", message).After(f.RetryAfter)
	}
	return nil, job.Permanent("file_missing", message)
}

// isPacked reports whether a body is compressed. A store of objects may send a file as it was stored, whatever the
// request accepts; the recipient could not open it.
func isPacked(h http.Header) bool {
	coding := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ","))
	return slices.ContainsFunc([]string{"gzip", "deflate", "br", "zstd", "compress"}, func(name string) bool {
		return strings.Contains(coding, name)
	})
}

// fileName returns the last part of a URL's path. Characters that file systems or mail programs could misinterpret are
// replaced.
func fileName(urlPath string, index int) string {
	name := path.Base(strings.ReplaceAll(urlPath, `\`, "/"))
	name = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == utf8.RuneError || strings.ContainsRune(`/\:*?"<>|;`, c) {
			return '_'
		}
		return c
	}, name)
	name = strings.Trim(name, ". ")
	if strings.Trim(name, "_") == "" {
		return fmt.Sprintf("attachment-%d", index+1)
	}
	return shorten(name)
}

// shorten cuts a long name and keeps its extension.
func shorten(name string) string {
	if len(name) <= maxName {
		return name
	}
	extension := path.Ext(name)
	if len(extension) > 10 {
		extension = ""
	}
	return strings.ToValidUTF8(name[:maxName-len(extension)], "") + extension
}

// sniff detects the media type from the content. If the content is ambiguous, the extension of the name decides.
func sniff(name string, content []byte) string {
	kind := http.DetectContentType(content)
	base, _, _ := strings.Cut(kind, ";")
	if better := byExtension()[base+" "+strings.ToLower(path.Ext(name))]; better != "" {
		return better
	}
	if base == "text/html" || base == "text/xml" { // mail programs must not render it as a page
		return "application/octet-stream"
	}
	return kind
}

func byExtension() map[string]string {
	const office = "application/vnd.openxmlformats-officedocument."
	return map[string]string{
		"application/zip .docx":         office + "wordprocessingml.document",
		"application/zip .xlsx":         office + "spreadsheetml.sheet",
		"application/zip .pptx":         office + "presentationml.presentation",
		"text/plain .csv":               "text/csv; charset=utf-8",
		"text/plain .json":              "application/json",
		"application/octet-stream .dcm": "application/dicom",
	}
}
