{{/* Only the calls of the contracts' callers table, the stores of the deployable, DNS and telemetry pass. */}}
{{- define "labkit.networkpolicy" -}}
{{- if .root.Values.networkPolicy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{- include "labkit.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "labkit.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress: {{- include "labkit.ingressrules" . | trim | nindent 4 }}
  egress: {{- include "labkit.egress" . | nindent 4 }}
    {{- range .facts.callees }}
    - to: [{podSelector: {matchLabels: {app.kubernetes.io/name: {{ .service }}}}}]
      ports: [{protocol: TCP, port: {{ .port }}}]
    {{- end }}
{{- if and .facts.migrate .root.Values.migration.enabled (not .root.Values.migration.inPods) }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "labkit.name" . }}-migrate
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "labkit.labels" . | nindent 4 }}
  annotations: {{- include "labkit.hook" (dict "root" .root "weight" "-10") | nindent 4 }}
spec:
  podSelector:
    matchLabels: {app.kubernetes.io/name: {{ include "labkit.name" . }}-migrate}
  policyTypes: [Ingress, Egress]
  egress: {{- include "labkit.egress" (merge (dict "migration" true) .) | nindent 4 }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "labkit.ingressrules" -}}
- from: [{podSelector: {matchLabels: {app.kubernetes.io/name: {{ include "labkit.name" . }}-test}}}] # helm test
  ports: [{{ range $i, $port := .facts.ports }}{{ if $i }}, {{ end }}{protocol: TCP, port: {{ $port.port }}}{{ end }}]
{{- range .facts.callers }}
- from: [{podSelector: {matchLabels: {app.kubernetes.io/name: {{ .service }}}}}]
  ports: [{protocol: TCP, port: {{ .port }}}]
{{- end }}
{{- range $who, $port := .facts.outsiders }}
{{- with index $.root.Values.networkPolicy $who }}
- from: {{- toYaml . | nindent 4 }}
  ports: [{protocol: TCP, port: {{ $port }}}]
{{- end }}
{{- end }}
{{- with .facts.public }}
- ports: [{protocol: TCP, port: {{ . }}}]
  {{- with $.root.Values.networkPolicy.clients }}
  from: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .root.Values.networkPolicy.monitoring }}
- from: {{- toYaml . | nindent 4 }}
  ports: [{protocol: TCP, port: {{ $.facts.health.port }}}]
{{- end }}
{{- end -}}

{{/* DNS, stores, telemetry and, for the task queue, the Internet. */}}
{{- define "labkit.egress" -}}
- to: {{- toYaml .root.Values.networkPolicy.dns | nindent 4 }}
  ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}, {protocol: UDP, port: 5353}, {protocol: TCP, port: 5353}]
{{- with .root.Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- with include "labkit.storeports" . | fromYamlArray }}
- ports:
    {{- range . }}
    - {protocol: TCP, port: {{ . }}}
    {{- end }}
  {{- with $.root.Values.networkPolicy.stores }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .root.Values.telemetry.otlpEndpoint }}
- ports: [{protocol: TCP, port: {{ include "labkit.port" . }}}]
{{- end }}
{{- if and (not .migration) (or .root.Values.telemetry.errorReporting .facts.internet) }}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
    - ipBlock:
        cidr: ::/0
        except: ["fc00::/7", "fe80::/10"]
  ports:
    {{- range .root.Values.networkPolicy.internetPorts | default (list 443) }}
    - {protocol: TCP, port: {{ include "labkit.text" . }}}
    {{- end }}
{{- end }}
{{- end -}}

{{/* The ports of the stores that the values name, each once. */}}
{{- define "labkit.storeports" -}}
{{- $ports := list -}}
{{- range $key := list "database" "cache" "queue" "documentStore" "objectStore" -}}
{{- with index $.root.Values $key -}}
{{- with .endpoint }}{{ $ports = append $ports (include "labkit.port" . | int) }}{{ else }}{{ $ports = append $ports (include "labkit.text" .port | int) }}{{ end -}}
{{- range .sentinels }}{{ $ports = append $ports (include "labkit.port" . | int) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- range $key := list "searchIndex" "connect" -}}
{{- with index $.root.Values $key -}}
{{- range splitList "," .url }}{{ $ports = append $ports (include "labkit.port" . | int) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with .root.Values.kafka -}}
{{- range .brokers }}{{ $ports = append $ports (include "labkit.port" . | int) }}{{ end -}}
{{- end -}}
{{- toYaml ($ports | uniq) -}}
{{- end -}}

{{/* The port of host:port or of a URL, 443 and 80 where https and http leave it out. */}}
{{- define "labkit.port" -}}
{{- $address := regexReplaceAll "^[a-z]+://" . "" | splitList "/" | first -}}
{{- if regexMatch ":[0-9]+$" $address }}{{ regexFind "[0-9]+$" $address }}{{ else if hasPrefix "http://" . }}80{{ else }}443{{ end -}}
{{- end -}}
