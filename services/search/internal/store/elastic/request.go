package elastic

import (
	"strconv"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

const maxCount = 10_000 // hits that are counted exactly

// wanted are the fields of the documents that an answer needs.
var wanted = []string{
	"user_id",
	"lab_id",
	"lab_patient_id",
	"full_name",
	"contact",
	"alternate_contact",
	"email",
	"gender",
	"date_of_birth",
	"age",
	"passport_no",
	"national_identity_number",
	"branch_id",
	"org_id",
	"cc_id",
	"order_numbers",
	"bill_ids",
	"lab_bill_ids",
	"lab_report_ids",
	"sample_ids",
	"manual_sample_ids",
	"lrf_ids",
	"last_bill_time",
	"updated_at",
}

// request is the body of a search.
type request struct {
	From    int              `json:"from"`
	Size    int              `json:"size"`
	Count   int              `json:"track_total_hits"`
	Top     bool             `json:"track_scores"`
	Timeout string           `json:"timeout"`
	Source  []string         `json:"_source"`
	Query   query            `json:"query"`
	Sort    []query          `json:"sort,omitempty"`
	Aggs    map[string]query `json:"aggs,omitempty"`
}

// body makes the request of a plan. limit is how long the engine may take.
func (p *plan) body(scope search.Scope, q search.Query, recent *recency, limit time.Duration) request {
	r := request{
		From:    q.From,
		Size:    q.Size,
		Count:   maxCount,
		Top:     true,
		Timeout: strconv.FormatInt(max(1, limit.Milliseconds()), 10) + "ms",
		Source:  wanted,
		Sort:    []query{{"_score": query{"order": "desc"}}, {"user_id.number": query{"order": "asc"}}},
	}
	r.Query = query{"bool": query{"filter": visible(scope), "must": []query{p.query()}}}
	if recent != nil {
		r.Query = recent.multiply(r.Query)
	}
	return r
}

// counting makes the request that only counts what each bucket holds.
func (p *plan) counting(scope search.Scope, limit time.Duration) request {
	r := p.body(scope, search.Query{}, nil, limit)
	r.Top, r.Source, r.Sort = false, []string{}, nil
	r.Aggs = map[string]query{"buckets": {"filters": query{"other_bucket_key": search.Patient, "filters": p.buckets()}}}
	return r
}

// visible is what the scope lets be seen. Routing alone is no filter: laboratories share shards, and a document may
// stand on the route of a laboratory that the patient left.
func visible(scope search.Scope) []query {
	filters := []query{term("lab_id", scope.Lab.LabID()), term("is_deleted", false)}
	for _, limit := range []struct {
		field string
		id    int64
	}{{"branch_ids", scope.BranchID}, {"org_ids", scope.OrgID}, {"cc_ids", scope.CCID}} {
		if limit.id != 0 {
			filters = append(filters, term(limit.field, limit.id))
		}
	}
	return filters
}

// recency ranks patients with a bill of late higher. The origin is a whole hour, so that the pages of one look through
// the hits agree.
type recency struct {
	cfg    *Config
	origin time.Time
}

func (r *recency) multiply(q query) query {
	const field = "last_bill_time"
	curve := query{"filter": exists(field), "weight": r.cfg.RecencyWeight, "gauss": query{field: query{
		"origin": r.origin.Truncate(time.Hour).
			UnixMilli(),
		"scale":  days(r.cfg.RecencyScaleDays),
		"offset": days(r.cfg.RecencyOffsetDays),
		"decay":  r.cfg.RecencyFactor,
	}}}
	never := query{"filter": not(exists(field)), "weight": r.cfg.RecencyWeight * r.cfg.RecencyFactor}
	return query{
		"function_score": query{
			"query":      q,
			"functions":  []query{{"weight": 1}, curve, never},
			"score_mode": "sum",
			"boost_mode": "multiply",
		},
	}
}

func days(n int) string { return strconv.Itoa(n) + "d" }
