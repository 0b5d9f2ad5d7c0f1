module github.com/labplatform/labplatform/scripts/agent

go 1.26.0
