package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/labplatform/labplatform/pkg/apperr"
	"github.com/labplatform/labplatform/services/externaledit/document"
)

// unfit is an error of the document itself: the same file is not uploaded again.
type unfit struct{ error }

func (u *unfit) Error() string { return sentence(u.error.Error()) }

func (u *unfit) Unwrap() error { return u.error }

// sentence removes the name of the form's field from a message.
func sentence(message string) string {
	return strings.TrimPrefix(strings.TrimPrefix(message, "word_file: "), "pdf_file: ")
}

// checkDocument applies the platform's rules to the document before LibreOffice converts it, with the platform's
// messages. It reports whether the document has tracked changes.
func checkDocument(path string) (tracked bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	head := make([]byte, document.HeadBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	if err := document.Word.CheckHead(head[:n]); err != nil {
		return false, &unfit{err}
	}
	if info.Size() > document.Word.MaxBytes {
		return false, &unfit{document.Word.TooLarge()}
	}
	facts, err := document.ReadWord(file, info.Size())
	if apperr.Is(err, apperr.Invalid) {
		err = &unfit{err}
	}
	return facts.Tracked, err
}

// finalView writes the document with all tracked changes accepted, for the PDF.
func finalView(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(document.FinalView(target, source, info.Size()), target.Close())
}
