package elastic

import (
	"strconv"
	"time"

	"github.com/labplatform/labplatform/pkg/lab/userindex"
	"github.com/labplatform/labplatform/services/search/internal/ranking"
	"github.com/labplatform/labplatform/services/search/internal/search"
)

const maxCount = 10_000 // maximum number of hits that are counted exactly

// reading requests only the card, which the engine returns without loading the whole document.
const reading = `,"stored_fields":"_none_","_source":false,"docvalue_fields":["` + userindex.Shown + `"],"query":`

// Initial sizes of request bodies, without and with counts by bucket.
const (
	requestSize = 4 << 10
	bucketsSize = 16 << 10
)

// look describes one search in the index: scope, page, and schema of the index.
type look struct {
	scope  search.Scope
	page   search.Query
	but    []int64 // patients to exclude, because they have already been found
	recent *recency
	old    bool // the index has the older schema
}

// body returns the request body of a plan. limit is the time limit for the engine.
func body(p *ranking.Plan, l *look, limit time.Duration) []byte {
	b := append(head(make([]byte, 0, requestSize), l.page.From, l.page.Size, limit), reading...)
	found := p.Query(l.old)
	if l.recent == nil {
		b = l.appendVisible(b, &found)
	} else {
		b = l.recent.append(b, func(b []byte) []byte { return l.appendVisible(b, &found) })
	}
	b = append(b, `,"sort":[{"_score":"desc"},{"user_id.number":"asc"}]`...) // the score is the first sort value of a hit
	if after := l.page.After; after != nil {
		b = appendNumber(append(b, `,"search_after":[`...), after.Score)
		b = append(strconv.AppendInt(append(b, ','), after.UserID, 10), ']')
	}
	return append(b, '}')
}

// counting returns a request body that only counts hits. If identified is set, it counts by bucket.
func counting(p *ranking.Plan, l *look, limit time.Duration, identified bool) []byte {
	var buckets []ranking.Filter
	size := requestSize
	if identified {
		buckets, size = p.Buckets(l.old), bucketsSize
	}
	b := append(head(make([]byte, 0, size), 0, 0, limit), `,"query":`...)
	found := p.Query(l.old)
	b = l.appendVisible(b, &found)
	if len(buckets) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"aggs":{"buckets":{"filters":{"other_bucket_key":`...)
	b = append(quote(b, string(search.Patient)), `,"filters":`...)
	open := byte('{')
	for i := range buckets {
		b = append(quote(append(b, open), string(buckets[i].Bucket)), ':')
		b = appendQuery(b, &buckets[i].Found)
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

// appendVisible appends found, restricted to the scope and without the patients in but. The filter is needed in
// addition to routing, because laboratories share shards, and a document may still have the routing of a laboratory
// that the patient left.
func (l *look) appendVisible(b []byte, found *ranking.Query) []byte {
	lab := l.scope.Lab.LabID()
	b = strconv.AppendInt(append(b, `{"bool":{"filter":[{"term":{"`+userindex.VisibleIn+`":"`...), lab, 10)
	b = append(b, `"}}`...)
	for _, limit := range []struct {
		field string
		id    int64
	}{{"branch_ids", l.scope.BranchID}, {"org_ids", l.scope.OrgID}, {"cc_ids", l.scope.CCID}} {
		if limit.id != 0 {
			b = append(quote(append(b, `,{"term":{`...), limit.field), ':')
			b = append(strconv.AppendInt(b, limit.id, 10), `}}`...)
		}
	}
	b = append(b, ']')
	if len(l.but) > 0 {
		known := ranking.OfUsers(l.but)
		b = appendQuery(append(b, `,"must_not":`...), &known)
	}
	return append(appendQuery(append(b, `,"must":`...), found), `}}`...)
}

// recency ranks patients with a recent bill higher. The reference time is a full hour, so that the pages of a search
// are consistent.
type recency struct {
	cfg    *Config
	origin time.Time
}

// append appends the query written by inner, with its score multiplied by a factor for the age of the last bill. A
// patient without bills is ranked like one whose last bill is as old as offset and scale together.
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
