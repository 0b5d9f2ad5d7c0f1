package landing

import (
	"context"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/labplatform/labplatform/pkg/httpserver"
)

// metricsClient reads metrics of the services that the demo file names.
var metricsClient = &http.Client{Timeout: 2 * time.Second}

// count responds with the current counter of each link, keyed by the link's URL. Links whose metrics cannot be read are
// left out.
func (d *Demo) count(w http.ResponseWriter, r *http.Request) {
	numbers := map[string]float64{}
	for _, link := range d.Links {
		if link.Counter == nil {
			continue
		}
		if n, err := link.Counter.read(r.Context()); err == nil {
			numbers[link.URL] = n
		}
	}
	httpserver.WriteJSON(w, http.StatusOK, numbers)
}

func (c *Counter) read(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Metrics, nil)
	if err != nil {
		return 0, fmt.Errorf("counter %s: %w", c.Name, err)
	}
	response, err := metricsClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("counter %s: %w", c.Name, err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, fmt.Errorf("counter %s: %w", c.Name, err)
	}
	return sum(families[c.Name]), nil
}

func sum(family *dto.MetricFamily) float64 {
	total := 0.0
	for _, m := range family.GetMetric() {
		total += m.GetCounter().GetValue()
	}
	return total
}
