package bill

import "encoding/json"

// Amounts are the financial fields of a bill, in paise.
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

// Base returns the price of the bill's tests: its total without charges, deduction and tax.
func (a Amounts) Base() Paise { return a.Total - a.Additional + a.TDS - a.VAT }

// Number is the exact value of a field as decimal text.
type Number interface {
	String() string
	Set(text string) error
}

// Field is a financial field with its documented name.
type Field struct {
	Name  string
	Value Number // *Paise or *Percent
}

// Fields returns all fields in the documented order. Setting a field changes the amounts.
func (a *Amounts) Fields() []Field {
	return []Field{
		{"vat", &a.VAT}, {"vat_percent", &a.VATPercent}, {"TDSAmount", &a.TDS}, {"billAdvance", &a.Advance},
		{"co_pay_amount", &a.CoPay}, {"billConcession", &a.Concession}, {"billTotalAmount", &a.Total},
		{"deductible_amount", &a.Deductible}, {"billAdditionalAmount", &a.Additional},
		{"patientPayableAmount", &a.PatientPayable},
	}
}

// Plus returns the sum of the amounts with a's rate.
func (a Amounts) Plus(b Amounts) Amounts { return a.with(b, 1) }

// Minus returns the difference of the amounts with a's rate.
func (a Amounts) Minus(b Amounts) Amounts { return a.with(b, -1) }

func (a Amounts) with(b Amounts, sign Paise) Amounts {
	other := b.Fields()
	for i, f := range a.Fields() {
		if amount, ok := f.Value.(*Paise); ok {
			*amount += sign * *other[i].Value.(*Paise)
		}
	}
	return a
}

// MarshalJSON encodes the fields as exact decimals.
func (a Amounts) MarshalJSON() ([]byte, error) {
	members := map[string]json.Number{}
	for _, f := range a.Fields() {
		members[f.Name] = json.Number(f.Value.String())
	}
	return json.Marshal(members)
}

// UnmarshalJSON decodes the fields. All of them must be present; others are ignored.
func (a *Amounts) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for _, f := range a.Fields() {
		if err := f.Value.Set(string(members[f.Name])); err != nil {
			return err
		}
	}
	return nil
}
