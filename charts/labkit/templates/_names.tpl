{{/* Every template of labkit takes a dict: root is the chart's context, facts what its templates/<name>.yaml says. */}}

{{/* A deployable is named after its chart: the name is its address for the others, as in taskqueue:9004. */}}
{{- define "labkit.name" -}}
{{ .root.Chart.Name }}
{{- end -}}

{{- define "labkit.selector" -}}
app.kubernetes.io/name: {{ include "labkit.name" . }}
{{- end -}}

{{- define "labkit.labels" -}}
{{ include "labkit.selector" . }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lab
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "labkit.metadata" -}}
name: {{ include "labkit.name" . }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "labkit.labels" . | nindent 2 }}
{{- end -}}

{{/* global.image says once for all charts from where images come, and of which version. A digest wins over a tag: it cannot be
moved. */}}
{{- define "labkit.image" -}}
{{- $global := dig "image" dict (.root.Values.global | default dict) -}}
{{- with .root.Values.image -}}
{{- $repository := .repository -}}
{{- with $global.registry }}{{ $repository = printf "%s/%s" . (base $repository) }}{{ end -}}
{{- if .digest }}{{ $repository }}@{{ .digest }}{{ else }}{{ $repository }}:{{ .tag | default $global.tag | default $.root.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}
