package search

import (
	"fmt"
	"slices"
	"sync"

	"github.com/labplatform/labplatform/pkg/testkit/relevance"
	cdc "github.com/labplatform/labplatform/services/cdc/inprocess"
)

const (
	firstLaboratory = 1001
	patientsSeed    = 1
	textsSeed       = 2
	handLaboratory  = 2001 // of the handwritten set; the next laboratory holds the same people
)

// corpus holds the patients of the index and the texts of the searches.
type corpus struct {
	sizes    sizes
	patients []relevance.Patient // by laboratory
	texts    []relevance.Judgement

	hand      []relevance.Patient // in laboratories of their own
	handTexts []relevance.Judgement
}

func newCorpus(s sizes) *corpus {
	var labs []int64
	for n := range s.laboratories {
		labs = append(labs, int64(firstLaboratory+n))
	}
	c := &corpus{sizes: s, patients: relevance.Patients(patientsSeed, s.patients/s.laboratories, labs...)}
	c.texts = append(c.judgements(textsSeed), c.strangers()...)
	c.hand, c.handTexts = relevance.Handwritten(handLaboratory, handLaboratory+1)
	return c
}

// judgements generates the texts of all laboratories concurrently.
func (c *corpus) judgements(seed uint64) []relevance.Judgement {
	each := c.sizes.patients / c.sizes.laboratories
	made := make([][]relevance.Judgement, c.sizes.laboratories)
	var all sync.WaitGroup
	for n, of := range slices.Collect(slices.Chunk(c.patients, each)) {
		all.Go(func() { made[n] = relevance.Judgements(seed*1000+uint64(n), c.sizes.texts, of) })
	}
	all.Wait()
	return slices.Concat(made...)
}

// foreign is the kind of text that matches only a patient of the next laboratory and must find no one.
const foreign = "of another laboratory"

// strangers returns texts that ask every laboratory for patients of the next one, by identifiers that only those have.
func (c *corpus) strangers() []relevance.Judgement {
	each := c.sizes.patients / c.sizes.laboratories
	var all []relevance.Judgement
	for n := range c.sizes.laboratories {
		lab := int64(firstLaboratory + n)
		next := c.patients[(n+1)%c.sizes.laboratories*each:][:each]
		for i := range c.sizes.texts {
			p := next[i*7%each]
			for _, text := range []string{p.LabPatientID, p.SampleIDs[0], p.OrderNumbers[0]} {
				all = append(all, relevance.Judgement{Kind: foreign, LabID: lab, Text: text})
			}
		}
	}
	return all
}

// rows returns the patients as rows of user_meta. Columns that no text searches are filled too, because responses carry
// them.
func (c *corpus) rows() []cdc.Row {
	rows := make([]cdc.Row, 0, len(c.patients)+len(c.hand))
	for _, p := range slices.Concat(c.patients, c.hand) {
		branch, org, billed := p.UserID%5+1, p.UserID%40+1, p.LastBillTime
		row := cdc.Row{
			UserID:                 p.UserID,
			LabID:                  p.LabID,
			FullName:               p.Name(),
			Contact:                p.Contact,
			AlternateContact:       p.AlternateContact,
			Email:                  p.Email,
			LabPatientID:           p.LabPatientID,
			NationalIdentityNumber: p.NationalID,
			OrderNumbers:           p.OrderNumbers,
			BillIDs:                p.BillIDs,
			LabReportIDs:           p.LabReportIDs,
			SampleIDs:              p.SampleIDs,
			LastBillTime:           &billed,
			UpdatedAt:              billed,
			Gender:                 []string{"Male", "Female"}[p.UserID%2],
			Age:                    fmt.Sprintf("%d Y", p.UserID%90),
			DateOfBirth:            fmt.Sprintf("%d-%02d-%02d", 1936+p.UserID%90, 1+p.UserID%12, 1+p.UserID%28),
			BranchID:               &branch,
			OrgID:                  &org,
			BranchIDs:              []int64{branch},
			OrgIDs:                 []int64{org},
		}
		if p.DateOfBirth != "" {
			row.DateOfBirth = p.DateOfBirth
		}
		if p.Gender != "" {
			row.Gender, row.Age = p.Gender, p.Age
		}
		rows = append(rows, row)
	}
	return rows
}
