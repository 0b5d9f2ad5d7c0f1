package elastic

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labplatform/labplatform/pkg/elastic"
	"github.com/labplatform/labplatform/services/cdc/internal/outcome"
)

const (
	adviceAccess = "check CDC_ES_USER, CDC_ES_PASSWORD or CDC_ES_API_KEY, and that they may manage, read and write the indexes user_details*"
	adviceAlias  = "put the alias user_details back on its index, or make a new one with `cdc rebuild`"
	adviceWrite  = "leave the alias on one index, or set is_write_index on one"
	adviceClosed = "open the index that the alias names"
	adviceURL    = "check that CDC_ES_URL is the address of Elasticsearch 8"
)

// fault converts an error of a management request to a temporary fault or one for the operator. It returns nil for nil.
func fault(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, err)
	var refused *elastic.Error
	if !errors.As(err, &refused) {
		return outcome.Retry(err)
	}
	switch {
	case refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden:
		return outcome.Operator(err, adviceAccess)
	case refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusInternalServerError:
		return outcome.Retry(err)
	case refused.Type == "":
		return outcome.Operator(err, adviceURL)
	}
	return outcome.Operator(err, adviceAlias)
}
