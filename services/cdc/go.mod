module github.com/labplatform/labplatform/services/cdc

go 1.26.0
