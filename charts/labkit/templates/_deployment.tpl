{{- define "labkit.deployment" -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "labkit.metadata" . | nindent 2 }}
  {{- with $values.deploymentAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if not $values.autoscaling.enabled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  selector:
    matchLabels: {{- include "labkit.selector" . | nindent 6 }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  template:
    metadata:
      labels: {{- include "labkit.labels" (merge (dict "more" $values.podLabels) .) | nindent 8 }}
      {{- with $values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec: {{- include "labkit.podsecurity" . | nindent 6 }}
      serviceAccountName: {{ include "labkit.name" . }}
      terminationGracePeriodSeconds: {{ include "labkit.grace" . }}
      {{- /* Pods are counted with those of their own version: old ones, which are about to go, would push all new ones to one node. */}}
      topologySpreadConstraints:
        {{- if $values.topologySpreadConstraints }}
        {{- toYaml $values.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        {{- range $key, $unsatisfiable := dict "topology.kubernetes.io/zone" "ScheduleAnyway" "kubernetes.io/hostname" $values.spreadOverNodes }}
        - maxSkew: 1
          topologyKey: {{ $key }}
          whenUnsatisfiable: {{ $unsatisfiable }}
          labelSelector:
            matchLabels: {{- include "labkit.selector" $ | nindent 14 }}
          matchLabelKeys: [pod-template-hash]
        {{- end }}
        {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if and .facts.migrate .root.Values.migration.enabled .root.Values.migration.inPods }}
      {{- $first := merge (dict "migration" true) . }}
      initContainers:
        - {{ include "labkit.container" $first | nindent 10 | replace (printf "name: %s\n" (include "labkit.name" .)) "name: migrate\n" | trim }}
          args: [migrate, --wait=10m]
          resources: {{- toYaml $values.resources | nindent 12 }}
      {{- end }}
      containers:
        - {{ include "labkit.container" . | nindent 10 | trim }}
          args: [serve]
          ports:
            {{- range .facts.ports }}
            - {name: {{ .name }}, containerPort: {{ .port }}}
            {{- end }}
          resources: {{- toYaml $values.resources | nindent 12 }}
          lifecycle:
            preStop: {sleep: {seconds: {{ $values.shutdown.preStopSeconds }}}}
          {{- include "labkit.probes" . | nindent 10 }}
        {{- with $values.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with include "labkit.volumes" . | trim }}
      volumes: {{- . | nindent 8 }}
      {{- end }}
{{- end -}}

{{/* A process that waits for a store is live and not ready; it is not restarted for that. */}}
{{- define "labkit.probes" -}}
{{- $health := .facts.health -}}
{{- $probes := .root.Values.probes -}}
{{- $scheme := ternary "HTTPS" "HTTP" (eq (include "labkit.encrypted" .) "true") -}}
startupProbe:
  httpGet: {path: {{ $health.startup }}, port: {{ $health.port }}, scheme: {{ $scheme }}}
  {{- toYaml $probes.startup | nindent 2 }}
livenessProbe:
  httpGet: {path: {{ $health.live }}, port: {{ $health.port }}, scheme: {{ $scheme }}}
  {{- toYaml $probes.liveness | nindent 2 }}
readinessProbe:
  httpGet: {path: {{ $health.ready }}, port: {{ $health.port }}, scheme: {{ $scheme }}}
  {{- toYaml $probes.readiness | nindent 2 }}
{{- end -}}

{{/* The kubelet kills at the end of the grace period: it is longer than all that a stop may take, with 10 s to flush. */}}
{{- define "labkit.grace" -}}
{{- with .root.Values.shutdown -}}
{{ add .preStopSeconds .drainDelaySeconds .stopTimeoutSeconds 10 }}
{{- end -}}
{{- end -}}
