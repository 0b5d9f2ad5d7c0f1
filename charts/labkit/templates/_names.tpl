{{/* Every template of labkit takes a dict: root is the chart's context, facts what its templates/<name>.yaml says. */}}

{{/* A deployable is named after its chart: the name is its address for the others, as in taskqueue:9004. */}}
{{- define "labkit.name" -}}
{{ .root.Chart.Name }}
{{- end -}}

{{- define "labkit.selector" -}}
app.kubernetes.io/name: {{ include "labkit.name" . }}
{{- end -}}

{{/* With further labels in "more", which win over the values'. */}}
{{- define "labkit.labels" -}}
{{ include "labkit.selector" . }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: lab
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with omit (merge dict (.more | default dict) .root.Values.labels) "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/part-of" "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "labkit.metadata" -}}
name: {{ include "labkit.name" . }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "labkit.labels" . | nindent 2 }}
{{- end -}}

{{/* registry comes from global.image alone. A digest wins over a tag: it cannot be moved. */}}
{{- define "labkit.image" -}}
{{- with .root.Values.image -}}
{{- $repository := .repository -}}
{{- with .registry }}{{ $repository = printf "%s/%s" . (base $repository) }}{{ end -}}
{{- if .digest }}{{ $repository }}@{{ .digest }}{{ else }}{{ $repository }}:{{ .tag | default $.root.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}
