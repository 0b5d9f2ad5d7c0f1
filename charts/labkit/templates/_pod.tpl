{{/* What the pods of the Deployment, of the migration and of the test have in common. */}}
{{- define "labkit.podsecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" }}
{{- with index $.root.Values $key }}
{{ $key }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "labkit.containersecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "labkit.container" -}}
name: {{ include "labkit.name" . }}
image: {{ include "labkit.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext: {{- include "labkit.containersecurity" . | nindent 2 }}
env: {{- include "labkit.env" . | trim | nindent 2 }}
  {{- with .root.Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with include "labkit.mounts" . | trim }}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The Secrets that become folders below /etc/lab, by the folder's name: authorities of stores, certificates that stores ask
for, and what the service reads as files. */}}
{{- define "labkit.folders" -}}
{{- if and .root.Values.tls.enabled (not .migration) }}
tls: {{ include "labkit.tlssecret" . }}
{{- end -}}
{{- range $store := list "database" "cache" "queue" "kafka" "searchIndex" "documentStore" "telemetry" -}}
{{- range $key, $suffix := dict "caSecret" "ca" "clientCertSecret" "client" -}}
{{- with dig $store $key "" $.root.Values.AsMap }}
{{ kebabcase $store }}-{{ $suffix }}: {{ . }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $value := list "providerSecrets" "sealKeys" -}}
{{- with index $.root.Values $value }}
{{ kebabcase $value }}: {{ . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "labkit.mounts" -}}
{{- range $folder, $_ := include "labkit.folders" . | fromYaml }}
- {name: {{ $folder }}, mountPath: /etc/lab/{{ $folder }}, readOnly: true}
{{- end }}
{{- with .root.Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "labkit.volumes" -}}
{{- range $folder, $secret := include "labkit.folders" . | fromYaml }}
- name: {{ $folder }}
  secret: {secretName: {{ $secret }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "labkit.serviceaccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "labkit.metadata" . | nindent 2 }}
  {{- with .root.Values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}
