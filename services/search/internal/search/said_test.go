package search_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

func TestATextSaysWhatStandsAroundItsNumbers(t *testing.T) {
	t.Parallel()
	phone, person := []search.Field{"contact", "alternate_contact"}, []search.Field{"national_identity_number", "passport_no"}
	sample, bill, mail := []search.Field{"sample_ids", "manual_sample_ids"}, []search.Field{"bill_ids", "lab_bill_ids"}, []search.Field{"email"}
	number := func(text string, of []search.Field) []search.Number { return []search.Number{{Text: text, Of: of}} }
	for text, want := range map[string]search.Said{
		"*45807":                 {Numbers: number("45807", phone)},
		"xxxxxx5807":             {Numbers: number("5807", phone)},
		"••••45807":              {Numbers: number("45807", phone)},
		"last 4 digits 5807":     {Numbers: number("5807", phone)},
		"ending with 45807":      {Numbers: number("45807", phone)},
		"Mob-7775945807":         {Numbers: number("7775945807", phone)},
		"Mob7775945807":          {Numbers: number("7775945807", phone)},
		"Mugdha-9357573913":      {Names: []string{"mugdha"}, Numbers: number("9357573913", nil)},
		"Melissa9613001122":      {Names: []string{"melissa"}, Numbers: number("9613001122", nil)},
		"S:7812000-0":            {Numbers: number("78120000", nil)},
		"Acc no 7812000-0":       {Numbers: number("78120000", nil)},
		"Barcode-7812000":        {Numbers: number("7812000", sample)},
		"INV-20312":              {Numbers: number("20312", bill)},
		"aadhar no 341412341234": {Numbers: number("341412341234", person)},
		"E-mail: asha.1@x.in":    {Numbers: number("asha.1@x.in", mail)},
		"15081966":               {Numbers: []search.Number{{Text: "15081966", Birth: "1966-08-15"}}},
		"Dec 19, 1992":           {Births: []string{"1992-12-19"}},
		"Asha F/45":              {Names: []string{"asha"}},
		"Asha 45/F":              {Names: []string{"asha"}},
		"Asha Sex F Age 45":      {Names: []string{"asha"}},
	} {
		want.More = true
		if diff := cmp.Diff(want, search.Say(text)); diff != "" {
			t.Errorf("Say(%q) (-want +got):\n%s", text, diff)
		}
	}
	if said := search.Say("Asha Ends"); len(said.Names) != 2 || said.Names[1] != "ends" {
		t.Errorf("Say(Asha Ends) = %+v, want a name", said)
	}
	for _, text := range []string{"X1234567", "OPD-26-001534-7", "order SNG-2026-004417", "order SNG-2026004417", "Bill Gates", "P812"} {
		if said := search.Say(text); len(said.Names) > 0 && len(said.Numbers) > 0 {
			t.Errorf("Say(%q) = %+v, want a number or a name", text, said)
		}
	}
}
