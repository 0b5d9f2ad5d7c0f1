package userindex

import "strconv"

// step is by how many letters the beginnings of an identifier grow. A text is looked up among those of the next length:
// they are few, however many identifiers begin with it, and an identifier has a fourth as many as letters.
const step = 4

// BeginningForms returns the forms by which an identifier is found as one of a field that begins with a text: its first
// 4, 8, and so on, letters, at last all of them, of the first MaxForm.
func BeginningForms(field, id string) []string {
	letters := firstLetters(id)
	var forms []string
	for n := step; n < len(letters)+step; n += step {
		forms = append(forms, beginning(field, n, letters[:min(n, len(letters))]))
	}
	return forms
}

// BeginningForm returns what a form of each identifier of the field begins with that begins with text. "" has none.
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
