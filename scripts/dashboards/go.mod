module github.com/labplatform/labplatform/scripts/dashboards

go 1.26.0
