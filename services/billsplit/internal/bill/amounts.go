package bill

// Amounts are the financial fields of a bill.
type Amounts struct {
	VAT            Paise
	VATPercent     Percent
	TDS            Paise
	Advance        Paise
	CoPay          Paise
	Concession     Paise
	Total          Paise
	Deductible     Paise
	Additional     Paise
	PatientPayable Paise
}

// Base is what the tests of the bill cost: its total without charges, deduction and tax.
func (a Amounts) Base() Paise { return a.Total - a.Additional + a.TDS - a.VAT }

// Plus adds the amounts; the rate stays.
func (a Amounts) Plus(b Amounts) Amounts {
	a.VAT += b.VAT
	a.TDS += b.TDS
	a.Advance += b.Advance
	a.CoPay += b.CoPay
	a.Concession += b.Concession
	a.Total += b.Total
	a.Deductible += b.Deductible
	a.Additional += b.Additional
	a.PatientPayable += b.PatientPayable
	return a
}
