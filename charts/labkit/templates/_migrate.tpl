{{/* The verb migrate holds a lock of the database, so two installs at once are safe; a failed one stops the upgrade. It serves
no one and calls no service, so it needs neither the service account nor the certificate, which are not there yet. */}}
{{- define "labkit.migrate" -}}
{{- if and .facts.migrate .root.Values.migration.enabled (not .root.Values.migration.inPods) -}}
{{- $job := merge (dict "migration" true) . -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "labkit.name" . }}-migrate
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "labkit.labels" . | nindent 4 }}
  annotations: {{- include "labkit.hook" (dict "root" .root "weight" "0") | nindent 4 }}
spec:
  backoffLimit: {{ .root.Values.migration.retries }}
  activeDeadlineSeconds: {{ .root.Values.migration.timeoutSeconds }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ include "labkit.name" . }}-migrate
        app.kubernetes.io/part-of: lab
    spec: {{- include "labkit.podsecurity" $job | nindent 6 }}
      restartPolicy: Never
      containers:
        - {{ include "labkit.container" $job | nindent 10 | trim }}
          args: [migrate]
          resources: {{- toYaml .root.Values.resources | nindent 12 }}
      {{- with include "labkit.volumes" $job | trim }}
      volumes: {{- . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end -}}

{{/* When the Job and its NetworkPolicy are made: as hooks of Helm, or as migration.annotations say to another tool. */}}
{{- define "labkit.hook" -}}
{{- with .root.Values.migration.annotations -}}
{{ toYaml . }}
{{- else -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
helm.sh/hook-output-log-policy: hook-failed
{{- end -}}
{{- end -}}
