module github.com/labplatform/labplatform/services/search

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/google/go-cmp v0.7.0
	github.com/labplatform/labplatform/pkg v0.0.0
	github.com/labplatform/labplatform/proto v0.0.0-00010101000000-000000000000
	github.com/labplatform/labplatform/services/cdc v0.0.0-00010101000000-000000000000
	github.com/prometheus/client_golang v1.25.0
	github.com/redis/go-redis/v9 v9.23.0
	golang.org/x/text v0.42.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/caarlos0/env/v11 v11.4.2 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
)

replace (
	github.com/labplatform/labplatform/pkg => ../../pkg
	github.com/labplatform/labplatform/proto => ../../proto
	github.com/labplatform/labplatform/services/cdc => ../cdc
)
