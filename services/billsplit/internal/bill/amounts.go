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
	other := b.all()
	for i, amount := range a.all() {
		*amount += *other[i]
	}
	return a
}

// Minus subtracts the amounts; the rate stays.
func (a Amounts) Minus(b Amounts) Amounts {
	other := b.all()
	for i, amount := range a.all() {
		*amount -= *other[i]
	}
	return a
}

// all returns every amount of money.
func (a *Amounts) all() [9]*Paise {
	return [...]*Paise{&a.VAT, &a.TDS, &a.Advance, &a.CoPay, &a.Concession, &a.Total, &a.Deductible, &a.Additional,
		&a.PatientPayable}
}
