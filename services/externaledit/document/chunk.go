package document

import (
	"bytes"
	"html"
	"io"
	"regexp"
	"strconv"
)

var errChunk = wordInvalid("WORD_MERGED_FILE", "takes in another file (altChunk) that cannot be checked or that fetches"+
	" something; open it in Word, remove linked pictures and fields, and save it again")

var (
	// activeText matches HTML that fetches or runs something, and Word's own formats.
	activeText = regexp.MustCompile(`(?i)url\s*\(|@import|<\s*(link|object|embed|i?frame|base|script)\b|supportfields|` +
		`mso-element|utf-7|\{\\rtf|openxmlformats\.org/wordprocessingml|office/2006/xmlpackage|office/word/2003/wordml`)
	// textSource matches the addresses of pictures. In MHT, the equals sign before an address may be encoded as =3D.
	textSource = regexp.MustCompile(`(?i)\b(?:src|background|data|codebase)\s*=\s*(?:3D\s*)?["']?([^"'>\s]*)`)

	mailEncoded = regexp.MustCompile(`(?im)^content-transfer-encoding:\s*base64`)
	mailPicture = regexp.MustCompile(`(?im)^content-type:\s*image/`)
	mailQuoted  = regexp.MustCompile(`=(\n|[0-9A-Fa-f]{2})`)
)

// chunk rejects active or unreadable content in a part that Word merges into the text and that is not an Office
// document: HTML, MHT or plain text. It rejects all RTF, which has too many ways to write a field.
func chunk(content io.Reader) error {
	const most = 2 << 20 // a limit, because the part is kept in memory
	text, err := io.ReadAll(io.LimitReader(content, most+1))
	if err != nil {
		return err
	}
	if len(text) > most || bytes.HasPrefix(text, oldOffice) {
		return errChunk
	}
	text = bytes.ReplaceAll(text, []byte{0}, nil) // the zero bytes of UTF-16
	text = bytes.ReplaceAll(text, []byte("\r"), nil)
	for block := range bytes.SplitSeq(text, []byte("\n\n")) {
		if mailEncoded.Match(block) && !mailPicture.Match(block) {
			return errChunk
		}
	}
	if isActive(text) || isActive(unquoted(text)) {
		return errChunk
	}
	return nil
}

func isActive(text []byte) bool {
	for _, source := range textSource.FindAllSubmatch(text, -1) {
		if isRemote(html.UnescapeString(string(source[1]))) {
			return true
		}
	}
	return activeText.Match(text)
}

// unquoted decodes the quoted-printable encoding of MHT.
func unquoted(text []byte) []byte {
	return mailQuoted.ReplaceAllFunc(text, func(code []byte) []byte {
		c, err := strconv.ParseUint(string(code[1:]), 16, 8)
		if err != nil { // an equals sign at the end of a line
			return nil
		}
		return []byte{byte(c)}
	})
}
