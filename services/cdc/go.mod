module github.com/labplatform/labplatform/services/cdc

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/google/go-cmp v0.7.0
)

replace github.com/labplatform/labplatform/pkg => ../../pkg

replace github.com/labplatform/labplatform/proto => ../../proto
