package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// Owner returns the owner of a job's windows: the laboratory or, without one, the service.
func (b *Body) Owner() string {
	if b.LabID != 0 {
		return strconv.FormatInt(b.LabID, 10)
	}
	return b.Caller
}

// Window returns the key of the job's window; empty if it has none. The key is a hash of owner, task, sub-type,
// priority and the caller's key; jobs with the same key share a window.
func (b *Body) Window(p Priority) string {
	if b.WindowKey == "" {
		return ""
	}
	return Digest(b.Owner(), strconv.Itoa(b.Task), strconv.Itoa(b.TaskType), strconv.Itoa(int(p)), b.WindowKey)
}

// Digest returns a hash of a list of texts, 32 characters long.
func Digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
