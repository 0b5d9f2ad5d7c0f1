package clinical_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/labplatform/labplatform/pkg/lab/clinical"
	"github.com/labplatform/labplatform/pkg/testkit/property"
)

func drawDecimal(t *rapid.T, label string) decimal.Decimal {
	return decimal.New(rapid.Int64Range(-5_000_000, 5_000_000).Draw(t, label), -int32(rapid.IntRange(0, 6).Draw(t, label+" scale")))
}

func drawValue(t *rapid.T) string {
	n := drawDecimal(t, "value").String()
	form := rapid.SampledFrom([]string{"%s", "<%s", "<=%s", ">%s", ">=%s", "%s H", " %s"}).Draw(t, "form")
	return fmt.Sprintf(form, n)
}

func drawRange(t *rapid.T) (low, high decimal.Decimal) {
	low, high = drawDecimal(t, "low"), drawDecimal(t, "high")
	if low.GreaterThan(high) {
		return high, low
	}
	return low, high
}

func rangeOf(t *rapid.T, low, high *decimal.Decimal) clinical.Range {
	text := func(d *decimal.Decimal) *string {
		if d == nil {
			return nil
		}
		s := d.String()
		return &s
	}
	r, err := clinical.NewRange(text(low), text(high))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWiderRangeNeverMakesANormalValueAbnormal(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		v := clinical.ParseValue(drawValue(t))
		low, high := drawRange(t)
		wideLow := low.Sub(drawDecimal(t, "more below").Abs())
		wideHigh := high.Add(drawDecimal(t, "more above").Abs())
		before := rangeOf(t, &low, &high).Classify(v)
		for name, wide := range map[string]clinical.Range{
			"both": rangeOf(t, &wideLow, &wideHigh), "no low bound": rangeOf(t, nil, &wideHigh), "no high bound": rangeOf(t, &wideLow, nil),
		} {
			after := wide.Classify(v)
			if before == clinical.Inside && after != clinical.Inside {
				t.Fatalf("%s: outcome = %v, want inside as before", name, after)
			}
			if !before.Outside() && after.Outside() {
				t.Fatalf("%s: outcome changed from %v to %v, want it not outside", name, before, after)
			}
		}
	})
}

func TestClassifyMatchesExactRationals(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		value := drawDecimal(t, "value")
		low, high := drawRange(t)
		want := clinical.Inside
		switch v := value.Rat(); {
		case v.Cmp(low.Rat()) < 0:
			want = clinical.Low
		case v.Cmp(new(big.Rat).Set(high.Rat())) > 0:
			want = clinical.High
		}
		if got := rangeOf(t, &low, &high).Classify(clinical.ParseValue(value.String())); got != want {
			t.Fatalf("outcome of %s in %s…%s = %v, want %v", value, low, high, got, want)
		}
	})
}

func TestCriticalValueIsNeverInTheNormalRange(t *testing.T) {
	t.Parallel()
	property.Check(t, func(t *rapid.T) {
		low, high := drawRange(t)
		criticalLow, criticalHigh := drawRange(t)
		ref := clinical.Reference{Normal: rangeOf(t, &low, &high), Critical: rangeOf(t, &criticalLow, &criticalHigh)}
		if a := ref.Assess(clinical.ParseValue(drawValue(t))); a.Critical.Outside() && !a.Normal.Outside() {
			t.Fatalf("critical outcome = %v, normal outcome = %v, want the latter outside too", a.Critical, a.Normal)
		}
	})
}

func FuzzInvalidValuesAreUndecided(f *testing.F) {
	for _, s := range []string{"3.99", "<0.4", ">=500", "1,50,000", "2-4", "12.5 H", "1:160", "****", "", "-", "<", "1:", "٣", "1,", "-.", "≤", "9999999999999999999999", "2–4"} {
		f.Add(s, "0.4", "11")
	}
	f.Fuzz(func(t *testing.T, value, low, high string) {
		plain, err := clinical.NewRange(&low, &high)
		if err != nil {
			return
		}
		v := clinical.ParseValue(value)
		got := plain.Classify(v)
		if got != clinical.Undecided && !strings.ContainsAny(value, "0123456789") {
			t.Fatalf("outcome of %q = %v, want undecided without a digit", value, got)
		}
		ref := clinical.Reference{Normal: plain, Critical: plain, NormalTexts: []string{"Negative"}}
		if a := ref.Assess(v); a.Critical.Outside() && !a.Normal.Outside() {
			t.Fatalf("%q is critical but not abnormal, want both", value)
		}
	})
}

func BenchmarkAssess(b *testing.B) {
	ref := clinical.Reference{Normal: numeric(b, "4.000000", "11.000000"), Critical: numeric(b, "2.000000", "30.000000")}
	values := []string{"7.35", "3.9", "<0.4", "12.5 H", "1,50,000", "2-4", "****", "14"}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ref.Assess(clinical.ParseValue(values[i&7]))
	}
}

func BenchmarkSelectAndAssess(b *testing.B) {
	p := clinical.Patient{Gender: "F", BirthDate: on(b, "1990-05-01"), SampledOn: on(b, "2026-11-21")}
	all := append([]clinical.Band(nil), bands...)
	for i := range all {
		all[i].Reference = clinical.Reference{Normal: numeric(b, "4", "11"), Critical: numeric(b, "2", "30")}
	}
	b.ReportAllocs()
	for b.Loop() {
		band, ok := clinical.Select(all, p)
		if !ok {
			b.Fatal("no band")
		}
		band.Reference.Assess(clinical.ParseValue("12.5 H"))
	}
}
