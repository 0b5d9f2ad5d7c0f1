package clinical_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

// A text that contains more than a listed text, or a listed text with a typing error, is neither normal nor critical.
func TestTextsThatAreNotListedAreUndecided(t *testing.T) {
	t.Parallel()
	culture := clinical.Reference{TextOnly: true, NormalTexts: []string{"No growth", "Negative", "Not seen"}, CriticalTexts: []string{"Positive", "Seen"}}
	malaria := clinical.Reference{TextOnly: true, CriticalTexts: []string{"P. falciparum seen", "+"}}
	potassium := clinical.Reference{Normal: numeric(t, "3.5", "5.1"), Critical: numeric(t, "2.5", "6.5"), CriticalTexts: []string{"Blasts"}}
	titres := clinical.Reference{Normal: titre(t, "", "80"), Critical: titre(t, "", "640"), CriticalTexts: []string{"Reactive"}}
	const undecided, inside, unlisted, high = clinical.Undecided, clinical.Inside, clinical.Unlisted, clinical.High
	for _, c := range []struct {
		ref  clinical.Reference
		want clinical.Outcome
		all  []string
	}{
		{culture, undecided, []string{
			"Positive for Gram-negative bacilli", "Gram-negative rods seen", "Growth of E. coli", "Pos" + "tive", "+ve", "Positive 2/2", "Weakly positive",
			"Positive (++)", "Positive+", "not positive", "Seen in 2 fields", "Negative?", "(Negative)", "Not  seen yet", "Haemolysed", "No growth so far",
		}},
		{culture, unlisted, []string{
			"Positive", "POSITIVE", " positive ", "POSITIVE.", "Positive!", "\"Positive\"", "(positive)", "positive?", "Positive *", "↑ Positive", "Ｐositive",
			"Pos\u00aditive", "Positive\u200b", "seen,", "* Seen *",
		}},
		{culture, inside, []string{"Negative", "NEGATIVE.", "ｎegative", "no  growth", "NOT SEEN", "Not\u00a0seen"}},
		{malaria, undecided, []string{
			"Plasmodium falciparum seen", "P.falciparum seen", "P. falciparum seen (++)", "P falciparum seen", "++", "+++", "-", "Negative", "Not seen", "3",
		}},
		{malaria, unlisted, []string{"p. FALCIPARUM seen.", "P. falciparum  seen", "+"}},
		{potassium, undecided, []string{
			"Haemolysed", "seven", "７.９", "7,9", "−12", "٧", "blast", "Blasts 3 %", "see comment, sample lysed", "*", "----x", strings.Repeat("x", 300),
		}},
		{potassium, unlisted, []string{"Blasts", "blasts.", "BLASTS!"}},
		{potassium, high, []string{"7.9", "7.9*", "7.9 H", ">7.9"}},
		{potassium, inside, []string{"4.1", "6.5", "2.5"}},
		{titres, undecided, []string{"Weakly reactive", "1280", "1:?", "non reactive"}},
		{titres, unlisted, []string{"reactive"}},
		{titres, high, []string{"1:1280"}},
	} {
		for _, text := range c.all {
			if got := c.ref.Assess(clinical.ParseValue(text)).Critical; got != c.want {
				t.Errorf("critical outcome of %q with the texts %q/%q = %v, want %v", text, c.ref.NormalTexts, c.ref.CriticalTexts, got, c.want)
			}
			if v := clinical.ParseValue(text); c.want == undecided && v.Absent() && text != "-" {
				t.Errorf("%q states that there is no result, want a value that is listed as unclear", text)
			}
		}
	}
}

// odd maps outcomes for potassium to unusual spellings of numeric results.
var odd = map[clinical.Outcome][]string{
	clinical.High: {
		"7.9", " 7.9 ", "7.90", "7.9 mmol/L", "7.9MMOL/L", "7.9*", "7.9 H", "H 7.9", "↑7.9", ">7.9", "\t7.9\n",
	},
	clinical.Inside: {"6.5", "6.50", "2.5", "4.1 N"},
	clinical.Undecided: {
		"７.９", "७.९", "٧.٩", "7,9", "7·9", "7.9.", "7..9", "7. 9", "7.9 mg/dL", "7.9 (repeated)", "7.9?", "~7.9", "ca. 7.9", "approx 7.9", "=7.9", "+7.9", "−12",
		"–12", "7.9e0", "7,9 mmol/L", "7.9/8.1", "7.9;8.1", "7.9 8.1", "7.9 to 8.1", "<>7.9", "7.9<", "7.9%", "0x7", "VII", "seven", "Seven point nine", "7.9 (H)",
		"K 7.9", "K=7.9", "7.9 mmol", "7.9!", "haemolysed 7.9", "7.9 haemolysed", "[7.9]", "(7.9)", "'7.9", "7.9'", "7\u200b.9", "7.9\u00a0mmol/l x", "6.4-6.6",
		"<6.6", ">6.4", "****", "TNTC", "QNS", "ERR", "#N/A", "NaN", "Infinity", "null", "none", "nil",
	},
}

// Critical texts never make an undecided value certain, and do not make any of the spellings normal.
func TestOddSpellingsWithAndWithoutCriticalTexts(t *testing.T) {
	t.Parallel()
	plain := clinical.Reference{Normal: numeric(t, "3.5", "5.1"), Critical: numeric(t, "2.5", "6.5")}
	texts := plain
	texts.CriticalTexts = []string{"Blasts seen"}
	for want, spellings := range odd {
		for _, s := range spellings {
			v := clinical.ParseValueIn(s, "mmol/L")
			if without, with := plain.Assess(v).Critical, texts.Assess(v).Critical; without != want || with != want {
				t.Errorf("critical outcome of %q = %v, with a critical text %v, want %v", s, without, with, want)
			}
			if want == clinical.Undecided && v.Absent() {
				t.Errorf("%q states that there is no result, want a value that is listed as unclear", s)
			}
		}
	}
}

// Only numbers and listed normal texts can be inside critical limits.
func TestOnlyListedNormalTextsAreInside(t *testing.T) {
	t.Parallel()
	words := []string{"Positive", "Negative", "No growth", "seen", "not", "of", "E. coli", "+", "++", "(", ")", ".", "?", "-", "ve", "7", "Ｎ", "\u200b", " "}
	property.Check(t, func(t *rapid.T) {
		normal := rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(t, "normal")
		critical := rapid.SliceOfN(rapid.SampledFrom(words), 1, 3).Draw(t, "critical")
		ref := clinical.Reference{TextOnly: true, NormalTexts: normal, CriticalTexts: critical}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 4).Draw(t, "words"), rapid.SampledFrom([]string{"", " "}).Draw(t, "gap"))
		got := ref.Assess(clinical.ParseValue(text)).Critical
		listed := func(texts []string) bool {
			for _, s := range texts {
				if strings.EqualFold(strings.TrimSpace(s), strings.TrimSpace(text)) {
					return true
				}
			}
			return false
		}
		switch {
		case listed(normal) && strings.TrimSpace(text) != "" && got != clinical.Inside:
			t.Fatalf("outcome of %q = %v, want inside, as it is listed as normal", text, got)
		case !listed(normal) && listed(critical) && strings.TrimSpace(text) != "" && !got.Outside():
			t.Fatalf("outcome of %q = %v, want outside, as it is listed as critical", text, got)
		case got == clinical.Inside && !equalsFolded(normal, text):
			t.Fatalf("outcome of %q with the normal texts %q = inside, want it only for a listed text", text, normal)
		}
	})
}

// equalsFolded compares letters, digits and signs only.
func equalsFolded(texts []string, text string) bool {
	letters := func(s string) string {
		s = strings.NewReplacer("Ｎ", "n", "\u200b", "", " ", "", ".", "").Replace(s)
		return strings.ToLower(s)
	}
	for _, s := range texts {
		if letters(s) == letters(text) {
			return true
		}
	}
	return false
}
