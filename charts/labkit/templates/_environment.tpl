{{/* labkit.variables prints the plain variables as a YAML map, name to value. The settings of the values come last and win. */}}
{{- define "labkit.variables" -}}
{{- $values := .root.Values -}}
{{- $plain := dict "ENVIRONMENT" ($values.environment | default "production") "DEPLOYMENT_REGION" $values.region "LOG_LEVEL" $values.logLevel -}}
{{- $_ := set $plain "DRAIN_DELAY_SECONDS" $values.shutdown.drainDelaySeconds -}}
{{- $_ := set $plain "STOP_TIMEOUT_SECONDS" $values.shutdown.stopTimeoutSeconds -}}
{{- with $values.telemetry.otlpEndpoint -}}
{{- $_ := set $plain "OPENTELEMETRY_ENDPOINT" . }}{{ $_ := set $plain "ERROR_REPORTING_SAMPLE_RATE" $values.telemetry.sampleRate -}}
{{- end -}}
{{- range .facts.ports }}{{ $_ := set $plain .variable .port }}{{ end -}}
{{- with $values.database -}}
{{- $_ := set $plain "DB_HOST" .host }}{{ $_ := set $plain "DB_PORT" .port }}{{ $_ := set $plain "DB_USER" .user -}}
{{- $_ := set $plain "DB_DATABASE" .name }}{{ $_ := set $plain "DB_POOL_SIZE" .poolSize -}}
{{- end -}}
{{- range $key, $prefix := dict "cache" "KV_" "queue" "REDIS_" -}}
{{- with index $values $key -}}
{{- $_ := set $plain (print $prefix "HOST") .host }}{{ $_ := set $plain (print $prefix "PORT") .port -}}
{{- $_ := set $plain (print $prefix "CONNECTION_TYPE") .connectionType }}{{ $_ := set $plain (print $prefix "USER") .user -}}
{{- if .sentinels -}}
{{- $_ := set $plain (print $prefix "SENTINELS") (join "," .sentinels) }}{{ $_ := set $plain (print $prefix "SENTINEL_MASTER") .sentinelMaster -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $store, $prefix := dict "database" "DB_" "cache" "KV_" "queue" "REDIS_" "kafka" "KAFKA_" "documentStore" "MONGO_" -}}
{{- with index $values $store -}}
{{- $_ := set $plain (print $prefix "TLS") .tls -}}
{{- if .caSecret }}{{ $_ := set $plain (print $prefix "TLS_CA") (printf "/etc/lab/%s-ca/ca.crt" (kebabcase $store)) }}{{ end -}}
{{- if .clientCertSecret -}}
{{- range $file := list "crt" "key" }}{{ $_ := set $plain (printf "%sTLS_%s" $prefix (ternary "CERT" "KEY" (eq $file "crt"))) (printf "/etc/lab/%s-client/tls.%s" (kebabcase $store) $file) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $values.searchIndex -}}
{{- $_ := set $plain "ES_URL" .url }}{{ $_ := set $plain "ES_USER" .user -}}
{{- /* An empty variable would mean its default, a file that is not there; the second is what the image trusts. */ -}}
{{- $_ := set $plain "ES_CA_CERT" (ternary "/etc/lab/search-index-ca/ca.crt" "/etc/ssl/certs/ca-certificates.crt" (ne .caSecret "")) -}}
{{- end -}}
{{- with $values.documentStore }}{{ $_ := set $plain "MONGO_DATABASE" .database }}{{ end -}}
{{- with $values.objectStore -}}
{{- $url := .url -}}
{{- with .endpoint }}{{ $url = printf "%s%sendpoint=%s&use_path_style=true" $url (ternary "&" "?" (contains "?" $url)) (urlquery .) }}{{ end -}}
{{- $_ := set $plain "BLOB_URL" $url -}}
{{- end -}}
{{- with $values.kafka -}}
{{- $_ := set $plain "KAFKA_BROKERS" (join "," .brokers) }}{{ $_ := set $plain "KAFKA_USER" .user -}}
{{- $_ := set $plain "KAFKA_SASL_MECHANISM" .mechanism -}}
{{- end -}}
{{- with $values.connect }}{{ $_ := set $plain "CONNECT_URL" .url }}{{ end -}}
{{- if $values.providerSecrets }}{{ $_ := set $plain "PROVIDER_SECRETS_DIR" "/etc/lab/provider-secrets" }}{{ end -}}
{{- if $values.sealKeys }}{{ $_ := set $plain "SEAL_KEYS_DIR" "/etc/lab/seal-keys" }}{{ end -}}
{{- range $callee := .facts.callees }}{{ if $callee.variable -}}
{{- with index $values.addresses $callee.service }}{{ $_ := set $plain $callee.variable . }}{{ end -}}
{{- end }}{{ end -}}
{{- if and $values.tls.enabled (not .migration) -}}
{{- range $name, $file := dict "TLS_CA" "ca.crt" "TLS_CERT" "tls.crt" "TLS_KEY" "tls.key" }}{{ $_ := set $plain $name (print "/etc/lab/tls/" $file) }}{{ end -}}
{{- if $values.tls.listeners }}{{ range .facts.encrypt | default (list "ADMIN_TLS") }}{{ $_ := set $plain . true }}{{ end }}{{ end -}}
{{- end -}}
{{- if .migration }}{{ with $values.migration.databaseUser }}{{ $_ := set $plain "DB_USER" . }}{{ end }}{{ end -}}
{{- $plain = mergeOverwrite $plain (.facts.variables | default dict) ($values.settings | default dict) -}}
{{- $named := dict -}}
{{- range $name, $value := $plain -}}
{{- $_ := set $named (include "labkit.variable" (dict "facts" $.facts "name" $name)) (include "labkit.text" $value) -}}
{{- end -}}
{{- toYaml $named -}}
{{- end -}}

{{/* Helm reads whole numbers of values as floats, and would print 1048576 as 1.048576e+06. */}}
{{- define "labkit.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* Nine tenths of the container's limit: what is not Go's heap needs the rest. Only for limits in Mi and Gi. */}}
{{- define "labkit.gomemlimit" -}}
{{- if regexMatch "^[0-9]+(Mi|Gi)$" (toString .) -}}
{{- $mebibytes := mul (regexFind "^[0-9]+" .) (ternary 1024 1 (hasSuffix "Gi" .)) -}}
{{ div (mul $mebibytes 9) 10 }}MiB
{{- end -}}
{{- end -}}

{{/* The documented names that have no prefix stay without one. */}}
{{- define "labkit.variable" -}}
{{- if has .name (.facts.absolute | default list) }}{{ .name }}{{ else }}{{ .facts.prefix }}{{ .name }}{{ end -}}
{{- end -}}

{{/* labkit.env prints a container's env: plain variables, then those of Secrets. */}}
{{- define "labkit.env" -}}
{{- range $name, $value := include "labkit.variables" . | fromYaml }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- with include "labkit.gomemlimit" (dig "limits" "memory" "" .root.Values.resources) }}
- name: GOMEMLIMIT
  value: {{ . }}
{{- end }}
{{- if .root.Values.telemetry.otlpEndpoint }}
{{- with .root.Values.telemetry.caSecret }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /etc/lab/telemetry-ca/ca.crt
{{- end }}
- name: K8S_POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: K8S_NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ .root.Release.Namespace }},k8s.deployment.name={{ include "labkit.name" . }},k8s.pod.name=$(K8S_POD_NAME),k8s.node.name=$(K8S_NODE_NAME)
{{- end }}
{{- range $required, $names := dict "true" .facts.secrets "false" .facts.optionalSecrets }}
{{- range $name := $names }}
{{- $at := include "labkit.secret" (merge (dict "name" $name) $) | fromYaml }}
- name: {{ include "labkit.variable" (dict "facts" $.facts "name" $name) }}
  valueFrom:
    secretKeyRef:
      name: {{ $at.name }}
      key: {{ $at.key }}
      {{- if eq $required "false" }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* labkit.secret says in which Secret a variable is and under which key. Every reference to a Secret of secretKeys comes from here. */}}
{{- define "labkit.secret" -}}
{{- $values := .root.Values -}}
{{- $at := index ($values.secretKeys | default dict) .name | default dict -}}
{{- if .migration }}{{ $at = index $values.migration.secretKeys .name | default $at }}{{ end -}}
name: {{ $at.name | default (index (.facts.apart | default dict) .name) | default $values.existingSecret }}
key: {{ $at.key | default .name }}
{{- end -}}

{{/* For NOTES.txt: which Secrets the pods read, each with its keys; those in brackets may be missing. */}}
{{- define "labkit.secretnotes" -}}
{{- include "labkit.settle" .root -}}
{{- $keys := dict -}}
{{- range $optional, $names := list .facts.secrets .facts.optionalSecrets -}}
{{- range $name := $names -}}
{{- $at := include "labkit.secret" (merge (dict "name" $name) $) | fromYaml -}}
{{- $_ := set $keys $at.name (append (index $keys $at.name | default list) (ternary $at.key (printf "[%s]" $at.key) (eq $optional 0))) -}}
{{- end -}}
{{- end -}}
Secrets and the keys that are read from them; those in brackets may be missing:
{{- range $secret, $of := $keys }}
  {{ $secret }}: {{ join " " $of }}
{{- end }}
{{- end -}}
