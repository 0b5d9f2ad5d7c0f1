package volume

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

const dateTime = "2006-01-02 15:04:05"

// epoch returns the fixed time that generated times are derived from, so that they do not depend on the clock.
func epoch() time.Time { return time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC) }

// generator generates patients. It has no state between calls, only word lists.
type generator struct {
	config Config
	given  []name
	family []string
}

func newGenerator(c Config) *generator {
	return &generator{config: c, given: givenNames(), family: familyNames()}
}

// laboratories returns the rows of the laboratories with their departments and tests; none when the patients go into an
// existing laboratory.
func (g *generator) laboratories() Rows {
	rows := Rows{}
	if g.config.Into != nil {
		return rows
	}
	for i := range g.config.Labs {
		lab := firstLab + i
		department := lab * 10
		rows["labs"] = append(rows["labs"], []any{lab, fmt.Sprintf("Volume Laboratory %d", i+1)})
		rows["department"] = append(rows["department"], []any{department, lab, "General"})
		for j, test := range testNames() {
			rows["AllTests"] = append(rows["AllTests"], []any{firstTest + i*testsPerLab + j, lab, test, department, "{}"})
		}
	}
	return rows
}

// lab returns the laboratory of patient i.
func (g *generator) lab(i int) int {
	if into := g.config.Into; into != nil {
		return into.ID
	}
	return firstLab + i%g.config.Labs
}

func (g *generator) branch(r *rand.Rand) int {
	if into := g.config.Into; into != nil {
		return into.Branch
	}
	return 1 + r.IntN(4)
}

// test returns a test of the laboratory of patient i. number may be any non-negative number.
func (g *generator) test(i, number int) int {
	if into := g.config.Into; into != nil {
		return into.Tests[number%len(into.Tests)]
	}
	return firstTest + (i%g.config.Labs)*testsPerLab + number%testsPerLab
}

// billNumber returns the number of bill j of patient i. It is unique in the laboratory.
func (g *generator) billNumber(i, j int) int {
	first := 1
	if into := g.config.Into; into != nil {
		first = into.FirstBill
	}
	return first + i/g.config.Labs*maxBillsPerUser + j
}

// patients returns the rows of the patients with index from to until-1, with their bills and reports.
func (g *generator) patients(from, until int) Rows {
	rows := Rows{}
	for i := from; i < until; i++ {
		g.patient(rows, i, rand.New(rand.NewPCG(g.config.SeedNumber, uint64(i))))
	}
	return rows
}

func (g *generator) patient(rows Rows, i int, r *rand.Rand) {
	given, family := g.given[r.IntN(len(g.given))], g.family[r.IntN(len(g.family))]
	born := epoch().AddDate(0, 0, -r.IntN(90*365))
	registered := epoch().Add(-time.Duration(r.IntN(365*24*3600)) * time.Second)
	designation := map[string]string{"Male": "Mr", "Female": "Ms"}[given.gender]
	email := ""
	if r.IntN(3) == 0 {
		email = strings.ToLower(given.text + "." + strings.ReplaceAll(family, "'", "") + fmt.Sprint(i) + "@example.in")
	}
	rows["userDetails"] = append(rows["userDetails"], []any{firstUser + i, g.lab(i), g.branch(r), fmt.Sprintf("P-%07d", i+1), designation,
		given.text, family, given.text + " " + family, fmt.Sprintf("%d%09d", 6+r.IntN(4), r.IntN(1_000_000_000)), "91", email,
		given.gender, born.Format(time.DateOnly), fmt.Sprintf("%d Y", int(epoch().Sub(born).Hours()/24/365.25)),
		registered.Format(dateTime), registered.Format(dateTime)})
	bills := 1
	if r.IntN(10) == 0 {
		bills = maxBillsPerUser
	}
	for j := range bills {
		g.bill(rows, i, j, registered.Add(time.Duration(j)*30*24*time.Hour), r)
	}
}

// bill adds one bill, its billing rows, and a report for each of them.
func (g *generator) bill(rows Rows, i, j int, at time.Time, r *rand.Rand) {
	lab, index, number := g.lab(i), i*maxBillsPerUser+j, g.billNumber(i, j)
	total := 0
	offset := r.IntN(testsPerLab)
	for k := range 1 + r.IntN(maxReportPerBill) {
		test := g.test(i, offset+k)
		id := firstReport + index*maxReportPerBill + k
		amount := 100 + 50*r.IntN(20)
		total += amount
		rows["billingInfo"] = append(rows["billingInfo"], []any{id, firstBill + index, lab, test, amount, amount})
		rows["labReportRelation"] = append(rows["labReportRelation"], []any{id, lab, firstBill + index, id, firstUser + i, test,
			fmt.Sprintf("S%d-%d", number, k+1), 1, at.Format(dateTime), at.Format(dateTime)})
	}
	rows["billing"] = append(rows["billing"], []any{firstBill + index, lab, number, fmt.Sprintf("ORD-%d-%d", lab, number), firstUser + i,
		g.branch(r), "Self Pay", total, total, total, at.Format(dateTime), at.Format(dateTime)})
}
