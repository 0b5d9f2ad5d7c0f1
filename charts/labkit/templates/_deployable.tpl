{{/* labkit.deployable prints every object of one deployable. */}}
{{- define "labkit.deployable" -}}
{{- range $part := list "serviceaccount" "migrate" "deployment" "service" "pdb" "hpa" "networkpolicy" "certificate" "servicemonitor" "prometheusrule" "dashboard" "ingress" "httproute" "test" }}
{{- with include (printf "labkit.%s" $part) $ | trim }}
---
{{ . }}
{{- end }}
{{- end }}
{{- end -}}
