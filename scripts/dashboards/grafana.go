package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The part of Grafana's dashboard model that these dashboards use; field names are Grafana's.
type (
	dashboard struct {
		UID           string     `json:"uid"`
		Title         string     `json:"title"`
		Tags          []string   `json:"tags"`
		SchemaVersion int        `json:"schemaVersion"`
		Refresh       string     `json:"refresh"`
		Time          span       `json:"time"`
		Templating    templating `json:"templating"`
		Panels        []panel    `json:"panels"`
	}
	span struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	templating struct {
		List []variable `json:"list"`
	}
	variable struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Query string `json:"query"`
	}
	panel struct {
		ID          int         `json:"id"`
		Type        string      `json:"type"`
		Title       string      `json:"title"`
		Description string      `json:"description,omitempty"`
		GridPos     position    `json:"gridPos"`
		Datasource  source      `json:"datasource"`
		FieldConfig fieldConfig `json:"fieldConfig"`
		Targets     []target    `json:"targets"`
	}
	position struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	}
	source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	fieldConfig struct {
		Defaults fieldDefaults `json:"defaults"`
	}
	fieldDefaults struct {
		Unit string `json:"unit"`
		Min  int    `json:"min"`
	}
	target struct {
		RefID        string `json:"refId"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
	}
)

const (
	schemaVersion = 39
	columns       = 2 // panels in a row
	width, height = 12, 8
)

// render returns a board as Grafana imports it.
func (b board) render() ([]byte, error) {
	d := dashboard{
		UID:           "lab-" + b.name,
		Title:         "Lab / " + b.title,
		Tags:          []string{"lab"},
		SchemaVersion: schemaVersion,
		Refresh:       "30s",
		Time:          span{From: "now-6h", To: "now"},
		Templating:    templating{List: []variable{{Name: "datasource", Type: "datasource", Query: "prometheus"}}},
	}
	for i, g := range b.graphs {
		p := panel{ID: i + 1, Type: "timeseries", Title: g.title, Description: g.help,
			GridPos:     position{X: i % columns * width, Y: i / columns * height, W: width, H: height},
			Datasource:  source{Type: "prometheus", UID: "${datasource}"},
			FieldConfig: fieldConfig{Defaults: fieldDefaults{Unit: g.unit}}}
		for j, q := range g.queries {
			p.Targets = append(p.Targets, target{RefID: string(rune('A' + j)), Expr: q.expr, LegendFormat: q.legend})
		}
		d.Panels = append(d.Panels, p)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("encode dashboard %s: %w", b.name, err)
	}
	return out.Bytes(), nil
}
