package userindex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

func TestWordsOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"": nil, "Maria D'Souza-Pinto": {"maria", "d", "souza", "pinto"}, "K.J. José": {"k", "j", "jose"}, "राहुल शर्मा": {"rahul", "sharma"}, "王小明": {"wang", "xiao", "ming"},
	} {
		if diff := cmp.Diff(want, userindex.Words(name), cmp.Transformer("none", func(s []string) string { return strings.Join(s, "|") })); diff != "" {
			t.Errorf("Words(%q) (-want +got):\n%s", name, diff)
		}
	}
}

func TestLatinTransliteratesIndianScripts(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"राहुल": "rahul", "शर्मा": "sharma", "आकांक्षा राय": "akanksha ray", "தாமரை செல்வி": "tamarai selvi", "பொன்னம்மாள்": "ponnammal",
		"దుర్గాభవాని": "durgabhavani", "ಕೆಂಪೇಗೌಡ": "kempegauda", "ਗੁਰਪ੍ਰੀਤ": "guraprit", "ইলা": "ila", "Rahul": "Rahul", "राम १२": "ram 12",
	} {
		if got := userindex.Latin(script); got != want {
			t.Errorf("Latin(%q) = %q, want %q", script, got, want)
		}
	}
}

func TestLatinTransliteratesOtherScripts(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"Светлана Блинова": "svetlana blinova", "Татьяна": "tatiana", "李秀华": "li xiu hua", "李秀華": "li xiu hua", "沈洁": "shen jie", "單叶": "shan ye", "محمد جواد": "mhmd jwad", "عماد المهيدب": "amad al mhidb",
		"علی": "ali", "علي": "ali", "Αλέξανδρος": "alexandros", "José": "jose", "Nguyễn Đặng": "nguyen đang",
	} {
		if got := strings.Join(userindex.Words(script), " "); got != want {
			t.Errorf("words of %q = %q, want %q", script, got, want)
		}
	}
}

// The test checks that a name in two scripts has a form of its sound in common.
func TestNamesSoundAlikeAcrossScripts(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"محمد یوسف خان": {"Mohammed Yousuf Khan", "Muhammad Yusuf Khan"}, "فاطمه زهرا شبیری": {"Fatemeh Zahra Shobeiri", "Fatima Zehra Shubeiri"},
		"رضا": {"Reza", "Rida", "Raza"}, "عمر داود": {"Omar Dawood", "Umar Dawud"}, "கீதா முருகன்": {"Geetha Murugan", "Gita Murukan"}, "ராகவன்": {"Raghavan"}, "சந்திரன் செல்வி": {"Chandran Selvi"},
		"Юлия Хрущёва": {"Yulia Khrushcheva", "Iuliia Khrushchova"}, "Александр": {"Alexander", "Aleksandr"}, "राहुल शर्मा": {"Rahul Sharma", "Raahool Sarma"},
		"حسن": {"Hasan", "Hassan", "حسن"}, "الینا جنتی": {"Elina Jannati"}, "مجتهدی ترکاشوند": {"Mojtahedi Torkashvand"}, "Богдан Игорь": {"Bohdan Ihor", "Bogdan Igor"},
		"রায়": {"Roy", "Ray", "Rai"},
	} {
		forms := strings.Fields(name)
		for _, text := range texts {
			for i, word := range strings.Fields(text) {
				for _, of := range [2][2]string{{forms[i], word}, {word, forms[i]}} {
					have := userindex.SoundForms(of[0])
					if slices.ContainsFunc(userindex.SoundTexts(of[1], false), func(forms []string) bool {
						return !slices.ContainsFunc(forms, func(f string) bool { return slices.Contains(have, f) })
					}) {
						t.Errorf("%q %q does not sound like %q %q", of[1], userindex.SoundTexts(of[1], false), of[0], have)
					}
				}
			}
		}
	}
}

func TestLatinNamesWithTheArticleSoundLikeArabicOnes(t *testing.T) {
	t.Parallel()
	sound := func(text, name string) bool {
		have := userindex.SoundForms(name)
		return !slices.ContainsFunc(userindex.SoundTexts(text, false), func(forms []string) bool {
			return !slices.ContainsFunc(forms, func(f string) bool { return slices.Contains(have, f) })
		})
	}
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"Abdul Karim", "عبد الكريم", true}, {"Nuruddin", "نورالدین", true}, {"Abdullah", "عبدالله", true}, {"Abdulla", "عبدالله", true}, {"Abdul Rahman", "عبد الرحمن", true},
		{"Abdur Rahman", "عبد الرحمن", true}, {"Abdurrahman", "عبدالرحمن", true}, {"Abd ur Rahman", "عبد الرحمن", true}, {"Salahuddin", "صلاحالدین", true},
		{"Nur ud Din", "نور الدين", true}, {"Asadullah", "اسدالله", true}, {"Abdul Karim", "عبد الرحمن", false}, {"Nuruddin", "عبدالله", false}, {"Mulla", "ملل", false},
	} {
		if sound(c.text, c.name) != c.want {
			t.Errorf("%q sounds like %q: %t, want %t", c.text, c.name, !c.want, c.want)
		}
	}
	if texts := userindex.SoundTexts("Al", true); slices.Contains(texts[0], "~al") {
		t.Errorf("an article alone is %q, which every name with one has", texts)
	}
}

func TestPlainTextHasNoOtherFormsOfTheSame(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"７７７５９４５８０７": "7775945807", "٧٧٧٥٩": "77759", "۷۷۷۵۹": "77759", "७७७५९": "77759", "77759–45807": "77759-45807", "5−1‑2": "5-1-2",
		"\u202a7775945807\u202c": "7775945807", "a\u00a0b\tc": "a b c", "\x1dS1\r": "S1 ", "Jose\u0301": "José", "plain": "plain",
	} {
		if got := userindex.Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWrittenWordsAreEqualInAllFormsOfALetter(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{{"محمد جواد ايرواني", "مُحَمَّد جواد ایروانی", "محمـــد جواد ايرواني"}, {"أحمد كاظم فاطمة", "احمد کاظم فاطمه"}, {"Семён", "Семен"}, {"JOSÉ", "jose"}} {
		for _, other := range same[1:] {
			if diff := cmp.Diff(userindex.Written(same[0]), userindex.Written(other)); diff != "" {
				t.Errorf("%q and %q: %s", same[0], other, diff)
			}
		}
	}
	if cmp.Equal(userindex.Written("李秀华"), userindex.Written("Li Xiuhua")) {
		t.Error("names in two scripts are written alike")
	}
}

func TestNamesMatchRegardlessOfSeparators(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"K. J. Chackochan": {"kj chackochan", "chackochan kj", "k j chackochan", "kjchackochan", "chackochank"}, "Maria D'Souza": {"dsouza", "d souza", "mariadsouza", "maria dsouza"},
		"Jayalakshmi Iyer": {"jaya lakshmi iyer", "iyerjayalakshmi"}, "Rahul Kumar Sharma": {"rahulsharma", "sharmarahul", "rks"},
	} {
		forms := userindex.Names(userindex.Words(name))
		for _, text := range texts {
			if !slices.ContainsFunc(userindex.Joins(userindex.Words(text)), func(way []string) bool {
				return !slices.ContainsFunc(way, func(w string) bool {
					return !slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(form, w) })
				})
			}) {
				t.Errorf("%q does not match %q, whose forms are %q", text, name, forms)
			}
		}
	}
}

func TestIdentifiersMatchRegardlessOfSeparators(t *testing.T) {
	t.Parallel()
	for id, texts := range map[string][]string{
		"CHN-2026-000731": {"CHN2026000731", "chn 2026 731", "chn/2026/000731", "731", "000731"}, "P-000812": {"P812", "p 812", "000812"},
		"BLR-0000918-A": {"blr918a", "BLR/0000918/A"}, "0": {"0", "000"},
	} {
		forms := userindex.Compacts(id)
		for _, text := range texts {
			if !slices.ContainsFunc(userindex.Compact(text), func(f string) bool { return slices.Contains(forms, f) }) {
				t.Errorf("%q does not match %q, whose forms are %q", text, id, forms)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]userindex.Person{
		"Mr Rahul":         {Name: "rahul", Male: true, Titles: []string{"mr", "mister", "shri"}},
		"B.O. Lakshmi":     {Name: "lakshmi", Titles: []string{"b/o", "bo", "baby"}},
		"baby of lakshmi":  {Name: "lakshmi", Titles: []string{"b/o", "bo", "baby"}},
		"Anil 45 yrs":      {Name: "anil", Age: 45},
		"anil 45y female":  {Name: "anil", Age: 45, Female: true, Titles: []string{"female"}},
		"Anil 45/M":        {Name: "anil", Age: 45, Male: true},
		"Anil (M-45)":      {Name: "anil", Age: 45, Male: true},
		"Anil 45 yrs. M":   {Name: "anil", Age: 45, Male: true},
		"Asha 7 F Rao":     {Name: "asha rao", Age: 7, Female: true},
		"Asha 36y/female":  {Name: "asha", Age: 36, Female: true},
		"Anil 7 M":         {Name: "anil m", Age: 7}, // seven months, or a boy of seven years
		"Anil 7m":          {Name: "anil 7m"},
		"Anil M 45":        {Name: "anil m", Age: 45}, // M may be an initial
		"Baby":             {Name: "Baby"},
		"Kumari":           {Name: "Kumari"},
		"rahul 9876543210": {Name: "rahul 9876543210"},
	} {
		if diff := cmp.Diff(want, userindex.Describe(text)); diff != "" {
			t.Errorf("Describe(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// The test checks that a word with one wrong letter, even the first, shares a form with the correct word.
func TestMisspelledWordSharesAFormWithTheCorrectOne(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		word := []rune(rapid.StringMatching(`[a-z]{5,15}`).Draw(t, "word"))
		i := rapid.IntRange(0, len(word)-2).Draw(t, "position")
		letter := rapid.RuneFrom([]rune("abcxyz")).Draw(t, "letter")
		wrong := map[string][]rune{
			"another": slices.Concat(word[:i], []rune{letter}, word[i+1:]), "missing": slices.Concat(word[:i], word[i+1:]),
			"added": slices.Concat(word[:i], []rune{letter}, word[i:]), "exchanged": slices.Concat(word[:i], []rune{word[i+1], word[i]}, word[i+2:]),
		}
		right := userindex.Deletions(string(word))
		for error, w := range wrong {
			if !slices.ContainsFunc(userindex.Deletions(string(w)), func(f string) bool { return slices.Contains(right, f) }) {
				t.Errorf("%s letter: %q and %q share no form, want one", error, string(word), string(w))
			}
		}
	})
}

func TestIdentifierMatchesItsPrefixesOnly(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"order_numbers:4:ord-", "order_numbers:8:ord-1002", "order_numbers:12:ord-1002-1"}, userindex.BeginningForms("order_numbers", "ORD-1002-1")); diff != "" {
		t.Errorf("BeginningForms (-want +got):\n%s", diff)
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aA1-ßé:")), 0, 24, -1)
	property.Check(t, func(t *rapid.T) {
		id, query := text.Draw(t, "id"), text.Draw(t, "query")
		if rapid.Bool().Draw(t, "prefix of the id") {
			query = string([]rune(id)[:rapid.IntRange(0, len([]rune(id))).Draw(t, "letters")])
		}
		form := userindex.BeginningForm("bill_ids", query)
		if query == "" {
			if form != "" {
				t.Fatalf("BeginningForm of an empty text = %q, want none", form)
			}
			return
		}
		cut := []rune(userindex.Fold(query))
		want := strings.HasPrefix(userindex.Fold(id), string(cut[:min(len(cut), userindex.MaxForm)]))
		got := slices.ContainsFunc(userindex.BeginningForms("bill_ids", id), func(f string) bool { return strings.HasPrefix(f, form) })
		if got != want {
			t.Fatalf("%q matches %q: %v, want %v", id, query, got, want)
		}
	})
}
