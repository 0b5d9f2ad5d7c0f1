{{/* engines.engine prints what one engine is in Kubernetes. It takes a dict: root, and facts:
names: its Services, the first is its own; port; image; command: below sh, with the files of this chart in /files; or args
user: whom the image knows; env; secrets: keys of the Secret trial that become variables; files: keys that become files of /secrets
callers: deployables that may come in */}}
{{- define "engines.engine" -}}
{{- $root := .root }}{{ $facts := .facts }}{{ $name := first $facts.names -}}
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ $name }}, namespace: {{ $root.Release.Namespace }}, labels: {{ include "engines.labels" . }}}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: {{ $name }}}}
  template:
    metadata:
      labels: {{ include "engines.labels" . }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" }}
      {{- with index ($root.Values.global | default dict) $key }}
      {{ $key }}: {{ toJson . }}
      {{- end }}
      {{- end }}
      terminationGracePeriodSeconds: 10
      securityContext:
        {runAsNonRoot: true, runAsUser: {{ $facts.user }}, runAsGroup: {{ $facts.group | default 0 }}, fsGroup: {{ $facts.user }}, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: {{ $name }}
          image: {{ index $root.Values.images $facts.image | default (include "engines.devstack" $root) }}
          {{- with $facts.command }}
          command: [sh, -c, {{ . | quote }}]
          {{- end }}
          {{- with $facts.args }}
          args: {{ toJson . }}
          {{- end }}
          env:
            {{- range $variable, $value := $facts.env | default dict }}
            - {name: {{ $variable }}, value: {{ $value | quote }}}
            {{- end }}
            {{- range $facts.secrets }}
            - {name: {{ . }}, valueFrom: {secretKeyRef: {name: trial, key: {{ . }}}}}
            {{- end }}
          readinessProbe: {tcpSocket: {port: {{ $facts.port }}}, periodSeconds: 2}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
          resources: {requests: {{ toJson $root.Values.requests }}}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: scratch, mountPath: /tmp}
            - {name: files, mountPath: /files}
            {{- if $facts.files }}
            - {name: secrets, mountPath: /secrets}
            {{- end }}
      volumes:
        - {name: data, emptyDir: {}}
        - {name: scratch, emptyDir: {}}
        - {name: files, configMap: {name: trial-engines}}
        {{- with $facts.files }}
        - {name: secrets, secret: {secretName: trial, items: [{{ range . }}{key: {{ . }}, path: {{ . }}},{{ end }}]}}
        {{- end }}
{{- range $facts.names }}
---
apiVersion: v1
kind: Service
metadata: {name: {{ . }}, namespace: {{ $root.Release.Namespace }}, labels: {{ include "engines.labels" $ }}}
spec:
  selector: {app.kubernetes.io/name: {{ $name }}}
  ports: [{port: {{ $facts.port }}}]
{{- end }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: {{ $name }}, namespace: {{ $root.Release.Namespace }}, labels: {{ include "engines.labels" . }}}
spec:
  podSelector: {matchLabels: {app.kubernetes.io/name: {{ $name }}}}
  policyTypes: [Ingress]
  {{- with $facts.callers }}
  ingress:
    - from: [{podSelector: {matchExpressions: [{key: app.kubernetes.io/name, operator: In, values: {{ toJson . }}}]}}]
      ports: [{port: {{ $facts.port }}}]
  {{- end }}
{{- end -}}

{{- define "engines.labels" -}}
{app.kubernetes.io/name: {{ first .facts.names }}, app.kubernetes.io/component: engine, app.kubernetes.io/part-of: lab, app.kubernetes.io/instance: {{ .root.Release.Name }}}
{{- end -}}

{{- define "engines.devstack" -}}
{{- $global := dig "image" dict .Values.global -}}
{{ $global.registry | default "ghcr.io/labplatform" }}/devstack:{{ $global.tag | default .Chart.AppVersion }}
{{- end -}}
