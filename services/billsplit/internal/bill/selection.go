package bill

import "slices"

// Selection is what a request for some tests means on the rows of a bill.
type Selection struct {
	Asked    []Row   // the rows that were asked for, in the order of the bill
	Children []Row   // not asked for, and move with their profile
	Moved    []Row   // all that would move: the asked ones that may, and Children
	Missing  []int64 // asked for and not on the bill, in the order of the request
	Alone    []int64 // children that were asked for without their profile
	Stays    int     // tests that count and stay on the bill
}

// Select finds the rows of ids. Rows are in the order of their ids, so neither the order of ids nor that of a store
// decides anything.
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

// follow adds the children of what moves, and theirs, until nothing is added.
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

// price is what rows cost together.
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

// whole is what the tests of a bill cost together: without the refunded ones, when the bill's price was lowered by the
// refund.
func whole(head Amounts, rows []Row) price {
	all, billed := priceOf(rows), priceOf(unrefunded(rows))
	if all.explains(head) || !billed.explains(head) {
		return all
	}
	return billed
}

// explains reports whether the bill's price is that of the tests, less a discount that stands on none of them.
func (p price) explains(head Amounts) bool {
	gap := p.net - head.Base()
	return within(head.Concession-p.concession, gap) == gap
}

func unrefunded(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Refunded })
}
