{{/* labkit.prometheusrule prints the alerts that a chart lists: name, expr, for, severity, summary. runbook names their page. */}}
{{- define "labkit.prometheusrule" -}}
{{- if .root.Values.prometheusRule.enabled }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {{- include "labkit.metadata" . | nindent 2 }}
    {{- with .root.Values.prometheusRule.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ include "labkit.name" . }}
      rules:
        {{- range .alerts }}
        - alert: {{ .name }}
          expr: {{ .expr }}
          {{- with .for }}
          for: {{ . }}
          {{- end }}
          labels: {severity: {{ .severity }}}
          annotations:
            summary: {{ .summary | quote }}
            runbook: docs/runbooks/{{ $.runbook | default "cdc" }}.md
        {{- end }}
{{- end }}
{{- end -}}
