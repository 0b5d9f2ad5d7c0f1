{{/* The alerts of files/process-alerts.yaml, which all deployables share, and of the chart's own files/alerts.yaml. They are
written for namespace lab and job rerun, so that promtool reads them as they stand. global.prometheusRule speaks for all charts. */}}
{{- define "labkit.prometheusrule" -}}
{{- $rule := .root.Values.prometheusRule -}}
{{- $global := dig "prometheusRule" dict (.root.Values.global | default dict) -}}
{{- if or $rule.enabled $global.enabled }}
{{- $name := include "labkit.name" . -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {{- include "labkit.metadata" . | nindent 2 }}
    {{- with $rule.labels | default $global.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    {{- range $file := list "files/process-alerts.yaml" "files/alerts.yaml" }}
    {{- with $.root.Files.Get $file }}
    {{- range (fromYaml (include "labkit.rules" (dict "root" $.root "text" . "name" $name))).groups }}
    - {{- include "labkit.group" (dict "rule" $rule "global" $global "group" .) | nindent 6 }}
    {{- end }}
    {{- end }}
    {{- end }}
{{- end }}
{{- end -}}

{{/* A group without the alerts that the values disable, with their labels and thresholds. The label severity stays the alert's. A
threshold replaces the number of the alert's comparison; its text has the value and never the number. */}}
{{- define "labkit.group" -}}
{{- $rules := list -}}
{{- range $one := .group.rules -}}
{{- if hasKey $one "alert" -}}
{{- $_ := set $one "labels" (merge (dict) $one.labels ($.rule.alertLabels | default dict) ($.global.alertLabels | default dict)) -}}
{{- with index ($.rule.thresholds | default dict) $one.alert -}}
{{- $_ := set $one "expr" (regexReplaceAll "> [0-9]+" $one.expr (printf "> %d" (int64 .))) -}}
{{- end -}}
{{- end -}}
{{- if not (has ($one.alert | default "") (concat ($.rule.disabled | default list) ($.global.disabled | default list))) -}}
{{- $rules = append $rules $one -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "name" .group.name "rules" $rules) -}}
{{- end -}}

{{/* The text of a file of rules with this installation's selector, job and runbooks. The rules keep every label that the selector
names: what a rule records is selected by it again. */}}
{{- define "labkit.rules" -}}
{{- $rule := .root.Values.prometheusRule -}}
{{- $global := dig "prometheusRule" dict (.root.Values.global | default dict) -}}
{{- $selector := $rule.selector | default $global.selector | default (printf "namespace=%q" .root.Release.Namespace) -}}
{{- $named := regexFindAll "[a-zA-Z_][a-zA-Z0-9_]*" (regexReplaceAll "\"[^\"]*\"" $selector "") -1 -}}
{{- $kept := concat (list "namespace") $named | uniq | join ", " -}}
{{- $runbooks := $rule.runbooks | default $global.runbooks | default (printf "https://github.com/labplatform/labplatform/blob/v%s/docs/runbooks" .root.Chart.AppVersion) -}}
{{- .text | replace "by (namespace" (print "by (" $kept) | replace "on (namespace" (print "on (" $kept) | replace "namespace=\"lab\"" $selector | replace "job=\"rerun\"" (printf "job=%q" .name) | replace "name: rerun-process" (printf "name: %s-process" .name) | replace "docs/runbooks" $runbooks -}}
{{- end -}}

{{/* The Grafana dashboard of the chart as a ConfigMap, for Grafana's sidecar. */}}
{{- define "labkit.dashboard" -}}
{{- $dashboard := .root.Values.dashboard -}}
{{- $global := dig "dashboard" dict (.root.Values.global | default dict) -}}
{{- $text := .root.Files.Get "files/dashboard.json" -}}
{{- if and $text (or $dashboard.enabled $global.enabled) -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: dashboard-{{ include "labkit.name" . }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "labkit.labels" . | nindent 4 }}
    {{- toYaml ($dashboard.labels | default $global.labels) | nindent 4 }}
data:
  {{ include "labkit.name" . }}.json: {{ $text | quote }}
{{- end -}}
{{- end -}}
