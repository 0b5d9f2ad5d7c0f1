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
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: "0"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    helm.sh/hook-output-log-policy: hook-failed
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
