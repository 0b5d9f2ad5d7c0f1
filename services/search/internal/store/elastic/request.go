package elastic

import (
	"strconv"
	"strings"
	"time"

	"github.com/labplatform/labplatform/services/search/internal/search"
)

const maxCount = 10_000 // hits that are counted exactly

// wanted are the fields of the documents that an answer needs.
var wanted = "[" + strings.Join(quoted(
	"user_id", "lab_id", "lab_patient_id", "full_name", "contact", "alternate_contact", "email", "gender",
	"date_of_birth", "age", "passport_no", "national_identity_number", "branch_id", "org_id", "cc_id",
	"order_numbers", "bill_ids", "lab_bill_ids", "lab_report_ids", "sample_ids", "manual_sample_ids", "lrf_ids",
	"last_bill_time", "updated_at",
), ",") + "]"

func quoted(names ...string) []string {
	for i, name := range names {
		names[i] = string(quote(nil, name))
	}
	return names
}

// requestSize is what most requests take.
const requestSize = 4096

// body makes the request of a plan. limit is how long the engine may take.
func (p *plan) body(scope search.Scope, q search.Query, recent *recency, limit time.Duration, inFamilies bool) []byte {
	b := head(make([]byte, 0, requestSize), q.From, q.Size, limit)
	b = append(append(append(b, `,"_source":`...), wanted...), `,"query":`...)
	found := p.query(inFamilies)
	if recent == nil {
		b = appendVisible(b, scope, &found)
	} else {
		b = recent.append(b, func(b []byte) []byte { return appendVisible(b, scope, &found) })
	}
	return append(b, `,"sort":[{"_score":"desc"},{"user_id.number":"asc"}]}`...) // the score of a hit is its first place
}

// counting makes the request that only counts what each bucket holds.
func (p *plan) counting(scope search.Scope, limit time.Duration, buckets []filter, inFamilies bool) []byte {
	b := append(head(make([]byte, 0, requestSize), 0, 0, limit), `,"query":`...)
	found := p.query(inFamilies)
	b = append(appendVisible(b, scope, &found), `,"aggs":{"buckets":{"filters":{"other_bucket_key":`...)
	b = append(quote(b, string(search.Patient)), `,"filters":`...)
	open := byte('{')
	for i := range buckets {
		b = append(quote(append(b, open), string(buckets[i].bucket)), ':')
		b = buckets[i].found.append(b)
		open = ','
	}
	return append(b, `}}}}}`...)
}

func head(b []byte, from, size int, limit time.Duration) []byte {
	b = strconv.AppendInt(append(b, `{"from":`...), int64(from), 10)
	b = strconv.AppendInt(append(b, `,"size":`...), int64(size), 10)
	b = strconv.AppendInt(append(b, `,"track_total_hits":`...), maxCount, 10)
	b = strconv.AppendInt(append(b, `,"timeout":"`...), max(1, limit.Milliseconds()), 10)
	return append(b, `ms"`...)
}

// appendVisible limits found to what the scope lets be seen. Routing alone is no filter: laboratories share shards, and
// a document may stand on the route of a laboratory that the patient left.
func appendVisible(b []byte, scope search.Scope, found *query) []byte {
	b = strconv.AppendInt(append(b, `{"bool":{"filter":[{"term":{"lab_id":`...), scope.Lab.LabID(), 10)
	b = append(b, `}},{"term":{"is_deleted":false}}`...)
	for _, limit := range []struct {
		field string
		id    int64
	}{{"branch_ids", scope.BranchID}, {"org_ids", scope.OrgID}, {"cc_ids", scope.CCID}} {
		if limit.id != 0 {
			b = append(quote(append(b, `,{"term":{`...), limit.field), ':')
			b = append(strconv.AppendInt(b, limit.id, 10), `}}`...)
		}
	}
	return append(found.append(append(b, `],"must":`...)), `}}`...)
}

// recency ranks patients with a bill of late higher. The origin is a whole hour, so that the pages of one look through
// the hits agree.
type recency struct {
	cfg    *Config
	origin time.Time
}

// append multiplies the score of a query. A patient without a bill ranks as one whose last bill is old.
func (r *recency) append(b []byte, inner func([]byte) []byte) []byte {
	const field = `{"exists":{"field":"last_bill_time"}}`
	b = inner(append(b, `{"function_score":{"query":`...))
	b = append(b, `,"functions":[{"weight":1},{"filter":`+field+`,"weight":`...)
	b = append(appendNumber(b, r.cfg.RecencyWeight), `,"gauss":{"last_bill_time":{"origin":`...)
	b = strconv.AppendInt(b, r.origin.Truncate(time.Hour).UnixMilli(), 10)
	b = strconv.AppendInt(append(b, `,"scale":"`...), int64(r.cfg.RecencyScaleDays), 10)
	b = strconv.AppendInt(append(b, `d","offset":"`...), int64(r.cfg.RecencyOffsetDays), 10)
	b = appendNumber(append(b, `d","decay":`...), r.cfg.RecencyFactor)
	b = append(b, `}}},{"filter":{"bool":{"must_not":[`+field+`]}},"weight":`...)
	b = appendNumber(b, r.cfg.RecencyWeight*r.cfg.RecencyFactor)
	return append(b, `}],"score_mode":"sum","boost_mode":"multiply"}}`...)
}
