module github.com/labplatform/labplatform/scripts/bench

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/hibiken/asynq v0.26.0
	github.com/labplatform/labplatform/pkg v0.0.0
	github.com/labplatform/labplatform/proto v0.0.0
	github.com/labplatform/labplatform/scripts/devstack v0.0.0
	github.com/labplatform/labplatform/services/taskqueue v0.0.0
	github.com/redis/go-redis/v9 v9.23.0
	golang.org/x/sync v0.24.0
	google.golang.org/grpc v1.84.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.31.0 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	github.com/rogpeppe/go-internal v1.14.1 // indirect
	github.com/spf13/cast v1.10.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/time v0.14.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
)

replace github.com/labplatform/labplatform/pkg => ../../pkg

replace github.com/labplatform/labplatform/proto => ../../proto

replace github.com/labplatform/labplatform/scripts/devstack => ../devstack

replace github.com/labplatform/labplatform/services/taskqueue => ../../services/taskqueue
