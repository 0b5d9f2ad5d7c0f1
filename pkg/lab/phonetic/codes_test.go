package phonetic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/lab/phonetic"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

func share(a, b string) bool {
	codes := phonetic.Codes(b)
	return slices.ContainsFunc(phonetic.Codes(a), func(code string) bool { return slices.Contains(codes, code) })
}

func TestSpellingsOfANameShareACode(t *testing.T) {
	t.Parallel()
	for _, names := range []string{
		"Mohammed Muhammad Mohamad Mohammad Muhammed", "Shree Sri Shri Sree", "Laxmi Lakshmi Luxmi Lakshmy",
		"Chaudhary Choudhury Chowdhury Chaudhari Choudhary", "Geeta Gita Geetha Githa", "Pooja Puja Poojah", "Deepak Dipak Dipaak",
		"Kavitha Kavita Kaveetha", "Agarwal Aggarwal Agrawal Agarwaal", "Srinivas Sreenivas Shrinivas Shreenivas Srinivaas",
		"Farooq Faruk Farook Faruq Pharuk", "Fatima Phatima Fathima Fatimah", "Gowri Gauri Gouri", "Vijay Wijay Vijai Veejay", "Ishwar Eswar Ishvar Easwar",
		"Akshay Akshai Axay Akshaya", "Ayesha Aisha Aysha Aesha", "Yusuf Yousuf Yoosuf Yusuff", "Sheikh Shaikh Shaik Sheik Shekh",
		"Ahmed Ahmad Ahmedh", "Rahman Rehman Rahmaan", "Nair Nayar Nayyar", "Iyer Ayyar Aiyar Iyyer", "Reddy Reddi Redi",
		"Mukherjee Mukerji Mukharji Mukherji", "Krishna Krisna Krishnaa", "Chhaya Chaya Chhaaya", "Bharat Barat Bharath Bharatha",
		"Sunita Suneeta Sunitha Suneetha", "Raghav Ragav Raaghav", "Ashish Asheesh Aashish Asis", "Wasim Vaseem Waseem Vasim",
		"Dhanush Danush Dhanoosh", "Vishwanath Viswanathan Vishvanath", "Jyoti Jyothi Jioti", "Ananth Anant Anantha", "José Jose", "D'Souza Dsouza D’souza",
		"Mohammed Md Mohd Mohamd", "Javeri Zaveri", "Bimal Vimal", "Dnyaneshwar Gyaneshwar Jnaneshwar", "Abhinav Abhinabh", "Vaibhav Baibhav Vaibhabh",
		"Chowdhury Chaudhri Chaudhary", "Bijoy Vijay", "Subramanyam Subramaniam", "Wael Vael Wail", "Begum Begam", "Varughese Varghese", "Lal Lall", "Ray Rai Roy",
		"Banerjee Banerji Bannerjee", "Siddiqui Siddiqi", "Qureshi Kureshi", "Hussain Husain Hussein Hossain", "Khalid Khaled", "Osman Usman", "Omar Umar",
		"Imtiaz Imtiyaz", "Sayyed Syed Saiyad Sayed", "Aditya Aditia", "Surya Suriya", "Yulia Iuliia", "Yevgenia Evgenia Ievgeniia", "Sergey Sergei",
		"Aleksandr Alexander", "Jagannathan Jagannath", "Mahadeo Mahadev", "Pandey Pande", "Hegde Hegday", "Gnaneshwar Gnyaneshwar", "Schulz Shulz",
	} {
		spellings := strings.Fields(names)
		for _, other := range spellings[1:] {
			if !share(spellings[0], other) {
				t.Errorf("%s %q and %s %q share no code, want one", spellings[0], phonetic.Codes(spellings[0]), other, phonetic.Codes(other))
			}
		}
	}
}

func TestDifferentNamesShareNoCode(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Geeta", "Seeta"}, {"Rahul", "Rohit"}, {"Priya", "Pooja"}, {"Amit", "Sumit"}, {"Khan", "Shah"}, {"Anil", "Sunil"}, {"Ramesh", "Suresh"},
		{"Kavita", "Savita"}, {"Mohan", "Mahesh"}, {"Deepa", "Reena"}, {"Mohammed", "Mamta"}, {"Lakshmi", "Lalita"}, {"Anita", "Anand"},
		{"Vijay", "Ajay"}, {"Jaya", "Aya"}, {"Sharma", "Verma"}, {"Iyer", "Nair"}, {"Gupta", "Dutta"}, {"Arjun", "Arun"}, {"Joshi", "Doshi"},
		{"Kiran", "Karim"}, {"Patel", "Kumar"}, {"Vijay", "Pooja"}, {"Bina", "Fina"},
		{"Krishnakumar", "Krishnamurthy"}, {"Venkataraman", "Venkatesan"}, {"Subramoni", "Subramanian"}, {"Padmanabhan", "Padmavathi"}, {"Ramakrishnan", "Ramachandran"},
		{"Balasubramanian", "Balakrishnan"}, {"Chandrasekhar", "Chandramohan"}, {"Gopalakrishnan", "Gopalan"}, {"Tak", "Diogo"}, {"Sawhney", "Shivani"}, {"Rao", "Rai"},
		{"Goel", "Gul"}, {"Saumya", "Souma"}, {"Sheth", "Sethi"}, {"Wali", "Walia"}, {"Ghosh", "Giish"}, {"Mohan", "Mani"}, {"Borde", "Buraid"}, {"Irawan", "Ervaniye"}, {"Lalla", "Layla"},
	} {
		if share(pair[0], pair[1]) {
			t.Errorf("%s %q and %s %q share a code, want none", pair[0], phonetic.Codes(pair[0]), pair[1], phonetic.Codes(pair[1]))
		}
	}
}

func TestCodesOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"":                        nil,
		"  - 42 ":                 nil,
		"राहुल":                   nil,
		"Rahul Sharma":            {"rahl", "sarm"},
		"  rahul,SHARMA ":         {"rahl", "sarm"},
		"Rahul Rahul":             {"rahl"},
		"Dr.Rahul S.Kumar":        {"dr", "rahl", "s", "kumr"},
		"A. P. J. Abdul Kalam":    {"a", "p", "j", "abdl", "kalm"},
		"Ráhul Shärmà":            {"rahl", "sarm"},
		"Ｒａｈｕｌ":                   {"rahl"},
		"Rahul राहुल Sharma (Jr)": {"rahl", "sarm", "jr"},
		"Krishnakumar":            {"krsnkmr"},
		"Chaudhri Ray Reddy":      {"cadr_i", "cudr_i", "rai", "rad_i", "rid_i", "red_i"},
	} {
		if diff := cmp.Diff(want, phonetic.Codes(name)); diff != "" {
			t.Errorf("Codes(%q) (-want +got):\n%s", name, diff)
		}
	}
}

func TestCodesOfAnyTextAreSmallLetters(t *testing.T) {
	t.Parallel()
	letters := rapid.StringOf(rapid.RuneFrom([]rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ '-.éßøहि")))
	property.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), letters).Draw(t, "name")
		codes := phonetic.Codes(name)
		for _, code := range codes {
			if strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" || code == "" {
				t.Fatalf("code of %q = %q, want letters", name, code)
			}
		}
		if twice := phonetic.Codes(name + " " + name); !slices.Equal(codes, twice) {
			t.Fatalf("Codes of %q repeated = %q, want %q", name, twice, codes)
		}
		if lower := phonetic.Codes(strings.ToLower(name)); isASCII(name) && !slices.Equal(codes, lower) {
			t.Fatalf("Codes of %q in lower case = %q, want %q", name, lower, codes)
		}
	})
}

func TestConsonantsOfNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Mohammed Yousuf Khan": "mhmd ysf kn", "Imad": "amd", "Zahra": "jr", "Banoth Bonath": "bnt bnt", "": "",
	} {
		var got []string
		for _, word := range phonetic.Words(name) {
			got = append(got, word.Consonants)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("consonants of %q = %q, want %q", name, got, want)
		}
	}
	want := []string{"mhmd", "mmd", "asjn", "asjn"}
	got := slices.Concat(phonetic.Unvocalized([]string{"m", "h", "m", "d"}), phonetic.Unvocalized([]string{"a", "sh", "j", "n", "i"}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Unvocalized (-want +got):\n%s", diff)
	}
}

// The codes must equal those in an index of the previous schema.
func TestOldCodesHaveFourSounds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"Krishnakumar Weiß": {"KRSN", "FS", "BS"}, "A. P. J. Abdul Kalam": {"A", "P", "J", "APTL", "KLM"}, "Łukasz": {"LKSJ", "LKS"},
	} {
		if diff := cmp.Diff(want, phonetic.OldCodes(name)); diff != "" {
			t.Errorf("OldCodes(%q) (-want +got):\n%s", name, diff)
		}
	}
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

func BenchmarkCodes(b *testing.B) {
	for b.Loop() {
		phonetic.Codes("Lakshmi Venkateswaran Choudhury")
	}
}
