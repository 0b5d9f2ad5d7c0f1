package bill

import "slices"

// Selection is the result of applying the test ids of a request to the rows of a bill.
type Selection struct {
	Asked    []Row   // requested rows, in the order of the bill
	Children []Row   // rows that were not requested but move with their profile
	Moved    []Row   // all rows that would move: Children, and requested rows that may move
	Missing  []int64 // requested ids that are not on the bill, in the order of the request
	Alone    []int64 // children that were requested without their profile
	Stays    int     // number of tests with a price that stay on the bill
}

// Select applies ids to the rows of a bill. It sorts the rows by id, so that the result depends neither on the order of
// ids nor on that of rows.
func Select(rows []Row, ids []int64) Selection {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return int(a.ID - b.ID) })
	asked := make(map[int64]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	var s Selection
	moved := map[int64]bool{}
	known := make(map[int64]bool, len(rows))
	for _, row := range rows {
		known[row.ID] = true
		if asked[row.ID] {
			s.Asked = append(s.Asked, row)
			moved[row.ID] = !row.IsChild()
		}
	}
	follow(rows, moved)
	for _, row := range rows {
		switch {
		case moved[row.ID] && asked[row.ID]:
			s.Moved = append(s.Moved, row)
		case moved[row.ID]:
			s.Moved = append(s.Moved, row)
			s.Children = append(s.Children, row)
		case asked[row.ID]:
			s.Alone = append(s.Alone, row.ID)
		}
		if row.Counts() && !moved[row.ID] {
			s.Stays++
		}
	}
	for _, id := range ids {
		if !known[id] {
			s.Missing = append(s.Missing, id)
		}
	}
	return s
}

// follow adds the children of moved rows, at any depth.
func follow(rows []Row, moved map[int64]bool) {
	for added := true; added; {
		added = false
		for _, row := range rows {
			if row.IsChild() && moved[row.ProfileID] && !moved[row.ID] {
				moved[row.ID], added = true, true
			}
		}
	}
}

// IDs returns the ids of rows.
func IDs(rows []Row) []int64 {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids
}

// price holds the sums of rows.
type price struct{ net, concession, coPay, deductible, patient Paise }

func priceOf(rows []Row) price {
	var p price
	for _, row := range rows {
		if !row.Counts() {
			continue
		}
		p.net += row.net()
		p.concession += row.Concession
		p.coPay += row.CoPay
		p.deductible += row.Deductible
		p.patient += row.PatientPayable
	}
	return p
}

// whole returns the price of all tests of a bill. It omits refunded tests if the refund lowered the price of the bill.
func whole(head Amounts, rows []Row) price {
	all, billed := priceOf(rows), priceOf(unrefunded(rows))
	if all.explains(head) || !billed.explains(head) {
		return all
	}
	return billed
}

// explains reports whether the bill's price equals that of the tests minus a discount that belongs to none of them.
func (p price) explains(head Amounts) bool {
	gap := p.net - head.Base()
	return within(head.Concession-p.concession, gap) == gap
}

func unrefunded(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Refunded })
}
