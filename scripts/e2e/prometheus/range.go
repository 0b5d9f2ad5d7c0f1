package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Line is the points of one series.
type Line struct {
	Labels map[string]string `json:"metric"`
	Points []Point           `json:"values"`
}

// Point is a Unix time in seconds and a value.
type Point [2]float64

// UnmarshalJSON parses [time, "value"]; Prometheus writes the value as text.
func (p *Point) UnmarshalJSON(b []byte) error {
	var at float64
	var value string
	if err := json.Unmarshal(b, &[]any{&at, &value}); err != nil {
		return fmt.Errorf("point: %w", err)
	}
	number, err := strconv.ParseFloat(value, 64)
	*p = Point{at, number}
	if err != nil {
		return fmt.Errorf("point: %w", err)
	}
	return nil
}

// Range returns the series of an expression for the last period, with a point each second.
func (s *Server) Range(ctx context.Context, expr string, last time.Duration) ([]Line, error) {
	now := time.Now()
	query := url.Values{
		"query": {expr}, "step": {"1"},
		"start": {strconv.FormatInt(now.Add(-last).Unix(), 10)}, "end": {strconv.FormatInt(now.Unix(), 10)},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/api/v1/query_range?"+query.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []Line }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("query %s: %w", expr, err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("query %s: %s", expr, answer.Error)
	}
	return answer.Data.Result, nil
}
