{{/* labkit.deployable prints every object of one deployable. */}}
{{- define "labkit.deployable" -}}
{{- include "labkit.settle" .root -}}
{{- range $part := list "serviceaccount" "migrate" "deployment" "service" "pdb" "hpa" "networkpolicy" "certificate" "servicemonitor" "probe" "prometheusrule" "dashboard" "ingress" "httproute" "test" "extraobjects" }}
{{- with include (printf "labkit.%s" $part) $ | trim }}
---
{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* As they stand in the values: texts of other programs in double braces stay. */}}
{{- define "labkit.extraobjects" -}}
{{- range $i, $object := .root.Values.extraObjects }}
{{- if $i }}
---
{{- end }}
{{ toYaml $object }}
{{- end }}
{{- end -}}
