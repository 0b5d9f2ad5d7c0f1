package split

import (
	"encoding/json"

	"github.com/labplatform/labplatform/services/billsplit/internal/bill"
)

// AmountsDocument is the amounts of a bill in a stored document, under their documented names: exact decimals.
type AmountsDocument struct {
	VAT            json.Number `json:"vat"`
	VATPercent     json.Number `json:"vat_percent"`
	TDS            json.Number `json:"TDSAmount"`
	Advance        json.Number `json:"billAdvance"`
	CoPay          json.Number `json:"co_pay_amount"`
	Concession     json.Number `json:"billConcession"`
	Total          json.Number `json:"billTotalAmount"`
	Deductible     json.Number `json:"deductible_amount"`
	Additional     json.Number `json:"billAdditionalAmount"`
	PatientPayable json.Number `json:"patientPayableAmount"`
}

// DocumentOf returns the document of amounts.
func DocumentOf(a bill.Amounts) AmountsDocument {
	number := func(p bill.Paise) json.Number { return json.Number(p.String()) }
	return AmountsDocument{
		VAT: number(a.VAT), VATPercent: json.Number(a.VATPercent.String()), TDS: number(a.TDS), Advance: number(a.Advance),
		CoPay: number(a.CoPay), Concession: number(a.Concession), Total: number(a.Total), Deductible: number(a.Deductible),
		Additional: number(a.Additional), PatientPayable: number(a.PatientPayable),
	}
}

// Amounts reads the document.
func (d AmountsDocument) Amounts() (bill.Amounts, error) {
	var a bill.Amounts
	for _, f := range []struct {
		into *bill.Paise
		text json.Number
	}{
		{&a.VAT, d.VAT}, {&a.TDS, d.TDS}, {&a.Advance, d.Advance}, {&a.CoPay, d.CoPay},
		{&a.Concession, d.Concession}, {&a.Total, d.Total},
		{&a.Deductible, d.Deductible}, {&a.Additional, d.Additional}, {&a.PatientPayable, d.PatientPayable},
	} {
		p, err := bill.ParsePaise(f.text.String())
		if err != nil {
			return bill.Amounts{}, err
		}
		*f.into = p
	}
	rate, err := bill.ParsePercent(d.VATPercent.String())
	a.VATPercent = rate
	return a, err
}
