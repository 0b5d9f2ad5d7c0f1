package clinical_test

import (
	"testing"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
)

// numeric returns a plain range; an empty text means no bound.
func numeric(t testing.TB, low, high string) clinical.Range {
	t.Helper()
	r, err := clinical.NewRange(bound(low), bound(high))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func titre(t testing.TB, low, high string) clinical.Range {
	t.Helper()
	r, err := clinical.NewTitreRange(bound(low), bound(high))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func bound(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func TestClassifyTable(t *testing.T) {
	t.Parallel()
	const undecided, inside, low, high = clinical.Undecided, clinical.Inside, clinical.Low, clinical.High
	for _, c := range []struct {
		value     string
		low, high string
		want      clinical.Outcome
	}{
		// inclusive bounds
		{"3.99", "4", "11", low}, {"4", "4", "11", inside}, {"4.000", "4.0", "11", inside},
		{"11.0", "4", "11", inside}, {"11.01", "4", "11", high}, {"11.000000", "4.000000", "11.000000", inside},
		{" 7 ", "4", "11", inside}, {"-2.5", "-2", "2", low}, {"-2", "-2", "2", inside}, {".5", "0.5", "1", inside}, {"-.6", "-0.5", "1", low},
		{"0.1", "0.10", "0.1000", inside}, {"0.3", "", "0.29999999999999999999", high},
		{"99999999999999999999.5", "4", "11", high}, {"123456789012345678", "0", "0.000001", high},
		{"0.0000000000000000000000001", "0", "1", inside},
		// missing bounds
		{"3", "4", "", low}, {"400", "4", "", inside}, {"3", "", "11", inside}, {"12", "", "11", high},
		{"5", "", "", undecided}, {"<1", "", "", undecided},
		// below a limit of detection
		{"<0.01", "0.4", "4", low}, {"<0.4", "0.4", "4", low}, {"<=0.4", "0.4", "4", undecided}, {"≤0.4", "0.4", "4", undecided},
		{"<=0.39", "0.4", "4", low}, {"<10", "0", "5", undecided}, {"<5", "0", "5", inside}, {"<=5", "0", "5", inside},
		{"< 4", "0", "5", inside}, {"<4", "-1", "5", inside}, {"<4", "", "5", inside}, {"<4", "1", "5", undecided}, {"<0", "0", "5", inside},
		// above the measuring range
		{">1000", "0", "500", high}, {">500", "0", "500", high}, {">=500", "0", "500", undecided}, {"≥501", "0", "500", high},
		{">10", "0", "50", undecided}, {">10", "5", "", inside}, {">10", "11", "", undecided}, {">=11", "11", "", inside}, {"> 600", "0", "500", high},
		// thousands separators, including Indian grouping
		{"1,500", "4000", "11000", low}, {"1,50,000", "150000", "400000", inside}, {"150,000", "150000", "400000", inside},
		{"1,234,567.5", "0", "1234567", high}, {"12,34,567", "1234567", "1234567", inside}, {"-1,500", "0", "1", low},
		{"1,5", "0", "5", undecided}, {"0,500", "0", "5", undecided}, {"1,50", "0", "5", undecided}, {"1,,500", "0", "5", undecided},
		{",500", "0", "5", undecided}, {"1,500,00", "0", "5", undecided}, {"12,3456", "0", "5", undecided}, {"1.5,000", "0", "5", undecided},
		{"1234,567", "0", "5", undecided}, {"1,50,00,000", "0", "5", high},
		// microscopy ranges
		{"2-4", "0", "5", inside}, {"3-8", "0", "5", undecided}, {"6-8", "0", "5", high}, {"0 - 5", "0", "5", inside}, {"2–4", "0", "5", inside},
		{"2-4", "5", "9", low}, {"8-6", "0", "5", undecided}, {"2-4-6", "0", "5", undecided}, {"2--4", "0", "5", undecided}, {"2-", "0", "5", undecided},
		{"1,000-2,000", "0", "5", high},
		// analyser flags
		{"12.5 H", "13", "17", low}, {"12.5H", "13", "17", low}, {"2.1 LL", "13", "17", low}, {"<0.4 L", "0.4", "4", low}, {"14 N", "13", "17", inside},
		{"12.5 g/dL", "13", "17", undecided}, {"H", "13", "17", undecided}, {"12.5 X", "13", "17", undecided}, {"12.5N", "13", "17", undecided},
		// titres against a plain range
		{"1:40", "0", "80", undecided}, {"<1:40", "0", "80", undecided},
		// no result, and ambiguous forms
		{"Positive", "0", "5", undecided}, {"---", "0", "5", undecided}, {"****", "0", "5", undecided}, {"TNP", "0", "5", undecided},
		{"", "0", "5", undecided}, {"   ", "0", "5", undecided}, {"TNTC", "0", "5", undecided}, {"1.2e3", "0", "5", undecided}, {"+3", "0", "5", undecided},
		{"3+", "0", "5", undecided}, {"5.", "0", "5", undecided}, {"1.2.3", "0", "5", undecided}, {"<", "0", "5", undecided}, {"-", "0", "5", undecided},
		{"<<5", "0", "5", undecided}, {"٣", "0", "5", undecided}, {"NaN", "0", "5", undecided}, {"Inf", "0", "5", undecided}, {"0x10", "0", "5", undecided},
	} {
		if got := numeric(t, c.low, c.high).Classify(clinical.ParseValue(c.value)); got != c.want {
			t.Errorf("outcome of %q in %s…%s = %v, want %v", c.value, c.low, c.high, got, c.want)
		}
	}
}

func TestMarksAroundANumberAreIgnored(t *testing.T) {
	t.Parallel()
	const undecided, inside, high = clinical.Undecided, clinical.Inside, clinical.High
	for _, c := range []struct {
		value, unit string
		want        clinical.Outcome
	}{
		{"7.9 mmol/L", "mmol/L", high}, {"7.9MMOL/L", "mmol/L", high}, {"4.1 mmol/L", "mmol/L", inside}, {"7.9 mg/dL", "mmol/L", undecided},
		{"7.9*", "", high}, {"7.9 **", "mmol/L", high}, {"7.9 mmol/L *", "mmol/L", high}, {"7.9* mmol/L", "mmol/L", high}, {"7.9 H*", "", high},
		{"7.9 mmol/L H", "mmol/L", high}, {"H 7.9", "", high}, {"L 4.1", "", inside}, {"↑7.9", "", high}, {"↑ 7.9 mmol/L", "mmol/L", high},
		{"7.9 ↑", "", high}, {"7.9↑↑", "", high}, {">7.9 mmol/L", "mmol/L", high}, {"7 10^9/L", "10^9/L", high}, {"710^9/L", "10^9/L", undecided},
		{"55%", "%", high}, {"6.6-7 mmol/L", "mmol/L", high},
		{"****", "mmol/L", undecided}, {"*", "", undecided}, {"↑", "", undecided}, {"H", "", undecided}, {"L5", "", undecided}, {"H1N1", "", undecided},
		{"mmol/L", "mmol/L", undecided}, {"7,9", "mmol/L", undecided}, {"7.9 (haem.)", "mmol/L", undecided}, {"Haemolysed", "mmol/L", undecided},
	} {
		if got := numeric(t, "2.5", "6.5").Classify(clinical.ParseValueIn(c.value, c.unit)); got != c.want {
			t.Errorf("outcome of %q with unit %q = %v, want %v", c.value, c.unit, got, c.want)
		}
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"": true, "  ": true, "---": true, "tnp": true, "Not performed": true, "NA": true, "n/a": true, "pending": true, "— –": true, "\u2212": true,
		"Pending review": false, "TNP, see comment": false, "NAD": false, "-ve": false,
		"****": false, "TNTC": false, "QNS": false, "Haemolysed": false, "7,9": false, "4": false,
	} {
		if got := clinical.ParseValue(value).Absent(); got != want {
			t.Errorf("Absent of %q = %v, want %v", value, got, want)
		}
	}
}

func TestTitresAreComparedByDenominator(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]clinical.Outcome{
		"1:160": clinical.High, "1:80": clinical.Inside, "1:40": clinical.Inside, "<1:20": clinical.Inside, ">1:640": clinical.High,
		">1:40": clinical.Undecided, ">=1:80": clinical.Undecided, "1:160 H": clinical.High,
		"80": clinical.Undecided, "160": clinical.Undecided, "1:": clinical.Undecided, "2:80": clinical.Undecided, "1:20-1:40": clinical.Undecided,
		"1:1,280": clinical.High,
	} {
		if got := titre(t, "", "80").Classify(clinical.ParseValue(value)); got != want {
			t.Errorf("outcome of %q = %v, want %v", value, got, want)
		}
	}
}

func TestCriticalMeansOutsideBothRanges(t *testing.T) {
	t.Parallel()
	ref := clinical.Reference{Normal: numeric(t, "4", "11"), Critical: numeric(t, "2", "30")}
	inner := clinical.Reference{Normal: numeric(t, "4", "11"), Critical: numeric(t, "5", "10")}
	onlyCritical := clinical.Reference{Critical: numeric(t, "2", "")}
	none := clinical.Reference{Normal: numeric(t, "4", "11")}
	glucose := clinical.Reference{Normal: numeric(t, "", "140"), Critical: numeric(t, "40", "450")}
	platelets := clinical.Reference{Normal: numeric(t, "150", ""), Critical: numeric(t, "20", "1000")}
	for _, c := range []struct {
		name     string
		ref      clinical.Reference
		value    string
		normal   clinical.Outcome
		critical clinical.Outcome
	}{
		{"within", ref, "5", clinical.Inside, clinical.Inside},
		{"abnormal, not critical", ref, "3", clinical.Low, clinical.Inside},
		{"on the critical bound", ref, "2", clinical.Low, clinical.Inside},
		{"below it", ref, "1.9", clinical.Low, clinical.Low},
		{"above it", ref, "30.1", clinical.High, clinical.High},
		{"below detection", ref, "<2", clinical.Low, clinical.Low},
		{"possibly critical", ref, "<3", clinical.Low, clinical.Undecided},
		{"no result", ref, "****", clinical.Undecided, clinical.Undecided},
		{"critical bound inside the normal range", inner, "4.5", clinical.Inside, clinical.Inside},
		{"the same, possibly normal value", inner, ">10", clinical.Undecided, clinical.Undecided},
		{"the same, value outside both", inner, "12", clinical.High, clinical.High},
		{"no normal bound below", glucose, "30", clinical.Inside, clinical.Low},
		{"the same, within", glucose, "100", clinical.Inside, clinical.Inside},
		{"the same, possibly critical", glucose, "<50", clinical.Inside, clinical.Undecided},
		{"the same, above", glucose, "460", clinical.High, clinical.High},
		{"no normal bound above", platelets, "1500", clinical.Inside, clinical.High},
		{"the same, below", platelets, "12", clinical.Low, clinical.Low},
		{"only critical limits", onlyCritical, "1", clinical.Undecided, clinical.Low},
		{"only critical limits, within", onlyCritical, "3", clinical.Undecided, clinical.Inside},
		{"no critical limits", none, "1", clinical.Low, clinical.Undecided},
		{"nothing configured", clinical.Reference{}, "1", clinical.Undecided, clinical.Undecided},
	} {
		got := c.ref.Assess(clinical.ParseValue(c.value))
		if got.Normal != c.normal || got.Critical != c.critical {
			t.Errorf("%s: Assess(%q) = %v/%v, want %v/%v", c.name, c.value, got.Normal, got.Critical, c.normal, c.critical)
		}
	}
}

// A word on neither list is undecided, not inside the critical limits, because it may be a critical one.
func TestWordsAreComparedWithConfiguredTexts(t *testing.T) {
	t.Parallel()
	both := clinical.Reference{TextOnly: true, NormalTexts: []string{"Negative", "Non reactive"}, CriticalTexts: []string{"Malaria seen", "TNTC"}}
	normalOnly := clinical.Reference{TextOnly: true, NormalTexts: []string{"Negative"}}
	criticalOnly := clinical.Reference{TextOnly: true, CriticalTexts: []string{"Positive"}}
	mixed := clinical.Reference{Normal: numeric(t, "0", "5"), NormalTexts: []string{"Nil"}}
	contradiction := clinical.Reference{TextOnly: true, NormalTexts: []string{"x"}, CriticalTexts: []string{"X"}}
	const undecided, inside, unlisted, high = clinical.Undecided, clinical.Inside, clinical.Unlisted, clinical.High
	for _, c := range []struct {
		ref      clinical.Reference
		value    string
		normal   clinical.Outcome
		critical clinical.Outcome
	}{
		{both, "negative", inside, inside}, {both, " NON REACTIVE ", inside, inside}, {both, "malaria SEEN", unlisted, unlisted},
		{both, "tntc", unlisted, unlisted}, {both, "Positive", unlisted, undecided}, {both, "TNP", undecided, undecided},
		{both, "----", undecided, undecided}, {both, "", undecided, undecided}, {both, "12", undecided, undecided}, {both, "Positive (1:40)", undecided, undecided},
		{normalOnly, "Positive", unlisted, undecided}, {criticalOnly, "positive", unlisted, unlisted}, {criticalOnly, "weak", undecided, undecided},
		{mixed, "Nil", inside, inside}, {mixed, "7", high, undecided}, {mixed, "Many", unlisted, undecided},
		{contradiction, "x", inside, inside},
		{clinical.Reference{TextOnly: true}, "Positive", undecided, undecided},
		{clinical.Reference{TextOnly: true, Normal: numeric(t, "0", "5")}, "7", undecided, undecided},
	} {
		got := c.ref.Assess(clinical.ParseValue(c.value))
		if got.Normal != c.normal || got.Critical != c.critical {
			t.Errorf("Assess(%q) with the texts %v/%v = %v/%v, want %v/%v", c.value, c.ref.NormalTexts, c.ref.CriticalTexts, got.Normal, got.Critical, c.normal, c.critical)
		}
	}
}

func TestInvalidBoundIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "1,5", "1e3"} {
		if _, err := clinical.NewRange(&text, nil); err == nil {
			t.Errorf("NewRange(%q) succeeded, want an error", text)
		}
	}
}
