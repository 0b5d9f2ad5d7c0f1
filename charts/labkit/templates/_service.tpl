{{/* Headless for gRPC: clients hold one connection for long, so they balance over the addresses of the pods themselves. */}}
{{- define "labkit.service" -}}
apiVersion: v1
kind: Service
metadata: {{- include "labkit.metadata" . | nindent 2 }}
  {{- with .root.Values.serviceAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if .facts.headless }}
  clusterIP: None
  {{- end }}
  selector: {{- include "labkit.selector" . | nindent 4 }}
  ports:
    {{- $encrypted := eq (include "labkit.encrypted" .) "true" }}
    {{- range .facts.ports }}
    {{- $https := and $encrypted (eq .protocol "http") (ne .name "public") }}
    - {name: {{ .name }}, port: {{ .port }}, targetPort: {{ .name }}, appProtocol: {{ ternary "https" .protocol $https }}}
    {{- end }}
{{- end -}}

{{/* Whether listeners for HTTP, but not the public one, show the certificate. */}}
{{- define "labkit.encrypted" -}}
{{- with .root.Values.tls }}{{ and .enabled .listeners }}{{ end -}}
{{- end -}}

{{- define "labkit.tlssecret" -}}
{{- .root.Values.tls.existingSecret | default (printf "%s-tls" (include "labkit.name" .)) -}}
{{- end -}}

{{- define "labkit.pdb" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "labkit.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ include "labkit.text" .root.Values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "labkit.selector" . | nindent 6 }}
{{- end -}}

{{- define "labkit.hpa" -}}
{{- $scale := .root.Values.autoscaling -}}
{{- if $scale.enabled -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{- include "labkit.metadata" . | nindent 2 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "labkit.name" . }}}
  minReplicas: {{ $scale.minReplicas }}
  maxReplicas: {{ $scale.maxReplicas }}
  metrics:
    {{- with $scale.cpu }}
    - type: Resource
      resource: {name: cpu, target: {type: AverageValue, averageValue: {{ . }}}}
    {{- end }}
    {{- if and .facts.scaleOn $scale.metricTarget }}
    - type: Pods
      pods:
        metric: {name: {{ .facts.scaleOn }}}
        target: {type: AverageValue, averageValue: {{ $scale.metricTarget | quote }}}
    {{- end }}
  behavior:
    scaleDown: {stabilizationWindowSeconds: 300}
{{- end -}}
{{- end -}}

{{- define "labkit.servicemonitor" -}}
{{- if .root.Values.serviceMonitor.enabled -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {{- include "labkit.metadata" . | nindent 2 }}
    {{- with .root.Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels: {{- include "labkit.selector" . | nindent 6 }}
  endpoints:
    - port: {{ .facts.health.port }}
      path: /metrics
      {{- if eq (include "labkit.encrypted" .) "true" }}
      scheme: https
      tlsConfig: {ca: {secret: {name: {{ include "labkit.tlssecret" . }}, key: ca.crt}}, serverName: {{ include "labkit.name" . }}}
      {{- end }}
      interval: {{ .root.Values.serviceMonitor.interval }}
      {{- range $key := list "scrapeTimeout" "relabelings" "metricRelabelings" }}
      {{- with index $.root.Values.serviceMonitor $key }}
      {{ $key }}: {{- if kindIs "string" . }} {{ . }}{{ else }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- end }}
      {{- end }}
{{- end -}}
{{- end -}}

{{/* The public addresses as clients meet them, through DNS, certificate and ingress, probed by a blackbox exporter. */}}
{{- define "labkit.probe" -}}
{{- $probe := .root.Values.blackbox | default dict -}}
{{- if $probe.enabled -}}
{{- $targets := $probe.targets -}}
{{- if not $targets -}}
{{- range .root.Values.ingress.hosts -}}
{{- $targets = append $targets (printf "https://%s/docs" .) -}}
{{- end -}}
{{- end -}}
apiVersion: monitoring.coreos.com/v1
kind: Probe
metadata: {{- include "labkit.metadata" . | nindent 2 }}
    {{- with $probe.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  jobName: {{ include "labkit.name" . }}-public
  interval: {{ $probe.interval }}
  module: {{ $probe.module }}
  prober: {url: {{ $probe.prober | quote }}}
  targets: {staticConfig: {static: {{ $targets | required "blackbox.targets must have the addresses to probe, or ingress.hosts the names of the platform" | toJson }}}}
{{- end -}}
{{- end -}}

{{/* One certificate serves as server and client: both sides of a call show one of the same authority. */}}
{{- define "labkit.certificate" -}}
{{- $tls := .root.Values.tls -}}
{{- if and $tls.enabled (not $tls.existingSecret) -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {{- include "labkit.metadata" . | nindent 2 }}
spec:
  secretName: {{ include "labkit.tlssecret" . }}
  duration: 2160h
  renewBefore: 720h
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  usages: [digital signature, server auth, client auth]
  dnsNames:
    {{- $name := include "labkit.name" . }}
    {{- range list $name (printf "%s.%s" $name .root.Release.Namespace) (printf "%s.%s.svc" $name .root.Release.Namespace) "localhost" }}
    - {{ . }}
    {{- end }}
  ipAddresses: ["127.0.0.1"] # the search service calls its own gRPC port
  issuerRef: {kind: {{ $tls.issuer.kind }}, name: {{ $tls.issuer.name | required "tls.issuer.name must name the cert-manager issuer that signs certificates of services" }}}
{{- end -}}
{{- end -}}

{{- define "labkit.ingress" -}}
{{- $ingress := .root.Values.ingress | default dict -}}
{{- if $ingress.enabled -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{- include "labkit.metadata" . | nindent 2 }}
  {{- with $ingress.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  rules:
    {{- range $ingress.hosts | required "ingress.hosts must have the host names under which clients reach the platform" }}
    - host: {{ . | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {service: {name: {{ include "labkit.name" $ }}, port: {name: public}}}
    {{- end }}
  {{- with $ingress.tlsSecret }}
  tls: [{hosts: {{ toJson $ingress.hosts }}, secretName: {{ . }}}]
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "labkit.httproute" -}}
{{- $route := .root.Values.httpRoute | default dict -}}
{{- if $route.enabled -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{- include "labkit.metadata" . | nindent 2 }}
spec:
  parentRefs: {{- $route.parentRefs | required "httpRoute.parentRefs must name the Gateways by which clients come in" | toYaml | nindent 4 }}
  {{- with $route.hostnames }}
  hostnames: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - backendRefs: [{name: {{ include "labkit.name" . }}, port: {{ .facts.public }}}]
      timeouts: {request: 0s} # event streams stay open
{{- end -}}
{{- end -}}
