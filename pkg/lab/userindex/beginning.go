package userindex

import "strconv"

// step is the difference in length of an identifier's prefixes in the index. A text is looked up among the prefixes of
// the next length. Those are few, however many identifiers start with the text, and an identifier has a quarter as many
// prefixes as letters.
const step = 4

// BeginningForms returns the forms under which an identifier is found by a prefix: its first 4, 8, and so on letters,
// and at last all of them, of its first MaxForm letters.
func BeginningForms(field, id string) []string {
	letters := firstLetters(id)
	var forms []string
	for n := step; n < len(letters)+step; n += step {
		forms = append(forms, beginning(field, n, letters[:min(n, len(letters))]))
	}
	return forms
}

// BeginningForm returns a prefix of a form of every identifier of the field that starts with text. It is empty for an
// empty text.
func BeginningForm(field, text string) string {
	letters := firstLetters(text)
	if len(letters) == 0 {
		return ""
	}
	return beginning(field, (len(letters)+step-1)/step*step, letters)
}

func firstLetters(text string) []rune {
	letters := []rune(Fold(text))
	return letters[:min(len(letters), MaxForm)]
}

func beginning(field string, length int, letters []rune) string {
	return field + ":" + strconv.Itoa(length) + ":" + string(letters)
}
