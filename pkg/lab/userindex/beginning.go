package userindex

import "strconv"

// step is the distance between the lengths of the prefixes that the index stores of an identifier. A text of 5 letters
// is found by a prefix query among the stored prefixes of 8 letters. Few of those match, however many identifiers start
// with the text, and an identifier has a quarter as many prefixes as letters.
const step = 4

// BeginningForms returns the stored prefixes of an identifier: its first 4, 8 and so on letters, and the whole
// identifier. Letters after MaxForm are ignored.
func BeginningForms(field, id string) []string {
	letters := firstLetters(id)
	var forms []string
	for n := step; n < len(letters)+step; n += step {
		forms = append(forms, beginning(field, n, letters[:min(n, len(letters))]))
	}
	return forms
}

// BeginningForm returns the text of a prefix query: each identifier of the field that starts with text has a form that
// starts with the result. It is empty for an empty text.
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
