{{/* helm test: a pod of the service's own image asks the service: is it ready, does it answer a request, has it metrics. */}}
{{- define "labkit.test" -}}
{{- $name := include "labkit.name" . -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ $name }}-test
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ $name }}-test
    app.kubernetes.io/part-of: lab
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    helm.sh/hook-output-log-policy: hook-failed
spec: {{- include "labkit.podsecurity" . | nindent 2 }}
  restartPolicy: Never
  containers:
    - {{ include "labkit.container" . | nindent 6 | trim }}
      args:
        - healthcheck
        - --host={{ $name }}
        - --series={{ .facts.series }}
        {{- with .facts.public }}
        - --get=http://{{ $name }}:{{ . }}/openapi.json
        {{- end }}
        {{- if not .root.Values.tls.enabled }}
        {{- range .facts.ports }}{{ if eq .name "grpc" }}
        - --grpc={{ .port }}
        {{- end }}{{ end }}
        {{- end }}
      resources: {{- toYaml .root.Values.resources | nindent 8 }}
  {{- with include "labkit.volumes" . | trim }}
  volumes: {{- . | nindent 4 }}
  {{- end }}
{{- end -}}
