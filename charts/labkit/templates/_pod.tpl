{{/* What the pods of the Deployment and of the migration have in common. */}}
{{- define "labkit.podsecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
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
{{- with include "labkit.mounts" . | trim }}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The Secrets with the authorities of stores, by the store's name. */}}
{{- define "labkit.storecas" -}}
{{- range $store := list "database" "cache" "queue" "kafka" "searchIndex" -}}
{{- with dig $store "caSecret" "" $.root.Values.AsMap }}
{{ kebabcase $store }}: {{ . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "labkit.mounts" -}}
{{- if and .root.Values.tls.enabled (not .migration) }}
- {name: tls, mountPath: /etc/lab/tls, readOnly: true}
{{- end }}
{{- range $store, $_ := include "labkit.storecas" . | fromYaml }}
- {name: {{ $store }}-ca, mountPath: /etc/lab/{{ $store }}-ca, readOnly: true}
{{- end }}
{{- with .root.Values.providerSecrets }}
- {name: provider-secrets, mountPath: /etc/lab/provider-secrets, readOnly: true}
{{- end }}
{{- end -}}

{{- define "labkit.volumes" -}}
{{- if and .root.Values.tls.enabled (not .migration) }}
- name: tls
  secret: {secretName: {{ include "labkit.tlssecret" . }}, defaultMode: 0440}
{{- end }}
{{- range $store, $secret := include "labkit.storecas" . | fromYaml }}
- name: {{ $store }}-ca
  secret: {secretName: {{ $secret }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.providerSecrets }}
- name: provider-secrets
  secret: {secretName: {{ . }}, defaultMode: 0440}
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
