{{/* labkit.deployable prints every object of one deployable. global.trial is what the engines for a trial say to each chart. */}}
{{- define "labkit.deployable" -}}
{{- with dig "trial" .root.Chart.Name dict (.root.Values.global | default dict) }}{{ $_ := mergeOverwrite $.root.Values (deepCopy .) }}{{ end -}}
{{- range $part := list "serviceaccount" "migrate" "deployment" "service" "pdb" "hpa" "networkpolicy" "certificate" "servicemonitor" "prometheusrule" "dashboard" "ingress" "httproute" "test" }}
{{- with include (printf "labkit.%s" $part) $ | trim }}
---
{{ . }}
{{- end }}
{{- end }}
{{- end -}}
