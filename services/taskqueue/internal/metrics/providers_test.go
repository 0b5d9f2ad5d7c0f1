package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/labplatform/labplatform/services/taskqueue/internal/job"
	"github.com/labplatform/labplatform/services/taskqueue/internal/metrics"
)

func TestSeriesOfAProviderExistAtZeroFromTheStart(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := metrics.NewProviders(registry)
	p.Configured(job.SMS, "twilio")
	p.Attempt(job.SMS, "twilio", "sent")
	p.Paused(job.SMS, "twilio", true)
	p.Out("sms", "twilio", true)
	const want = `
# HELP taskqueue_provider_attempts_total Messages given to a provider, by outcome.
# TYPE taskqueue_provider_attempts_total counter
taskqueue_provider_attempts_total{channel="sms",outcome="elsewhere",provider="twilio"} 0
taskqueue_provider_attempts_total{channel="sms",outcome="paused",provider="twilio"} 0
taskqueue_provider_attempts_total{channel="sms",outcome="permanent",provider="twilio"} 0
taskqueue_provider_attempts_total{channel="sms",outcome="postponed",provider="twilio"} 0
taskqueue_provider_attempts_total{channel="sms",outcome="retry",provider="twilio"} 0
taskqueue_provider_attempts_total{channel="sms",outcome="sent",provider="twilio"} 1
taskqueue_provider_attempts_total{channel="sms",outcome="unknown",provider="twilio"} 0
# HELP taskqueue_provider_out 1 while a row of tq_provider is wrong or lacks its secret, else 0.
# TYPE taskqueue_provider_out gauge
taskqueue_provider_out{channel="sms",provider="twilio"} 1
# HELP taskqueue_provider_paused 1 while the circuit breaker of a provider is open, else 0.
# TYPE taskqueue_provider_paused gauge
taskqueue_provider_paused{channel="sms",provider="twilio"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
