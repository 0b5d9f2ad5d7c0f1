{{/* cdc.connectors prints the configurations of both connectors as a YAML map, by their names: those of connectors/source.json. */}}
{{- define "cdc.connectors" -}}
{{- $strimzi := .Values.strimzi -}}
{{- $database := .Values.database -}}
{{- $trust := $strimzi.databaseTrustSecret -}}
{{- if and $database.tls $database.caSecret (not $trust) -}}
{{- fail "database.caSecret is trusted by the service alone, and the connectors would refuse the database: name a Secret with Java's truststore.p12 of the same authority in strimzi.databaseTrustSecret (docs/operations.md)" -}}
{{- end -}}
{{- $kinds := dict
  "mariadb" (dict "connector" "io.debezium.connector.mariadb.MariaDbConnector" "verify" "verify-full")
  "mysql" (dict "connector" "io.debezium.connector.mysql.MySqlConnector" "verify" "verify_identity") -}}
{{- $kind := get $kinds $strimzi.database -}}
{{- $fill := dict "database_host" $database.host "database_port" $database.port "database_user" $strimzi.connectorUser
  "database_password" (include "cdc.reference" (dict "root" . "name" "CONNECTOR_DB_PASSWORD")) "database" $database.name
  "topic_prefix" .Values.topicServer "brokers" (join "," .Values.kafka.brokers) "replication" 3 "min_insync" 2 "heartbeat_ms" 2000
  "connector_class" $kind.connector -}}
{{- $existing := dict "server_id" "585701" "unreadable" "warn" "tables" (list "userDetails" "billing" "labReportRelation" "cdc_heartbeat") -}}
{{- $projection := dict "server_id" "585702" "unreadable" "fail" "tables" (list "user_meta" "cdc_heartbeat") -}}
{{- $connectors := dict -}}
{{- range $connector, $of := dict "source-existing" $existing "source-projection" $projection -}}
{{- $tables := list -}}
{{- range $of.tables }}{{ $tables = append $tables (printf "%s.%s" $database.name .) }}{{ end -}}
{{- $text := $.Files.Get "connectors/source.json" | required "connectors/source.json is missing in the chart" -}}
{{- range $name, $value := merge (dict "name" $connector "server_id" $of.server_id "unreadable" $of.unreadable "tables" (join "," $tables)) $fill -}}
{{- $text = replace (printf "${%s}" $name) (include "labkit.text" $value) $text -}}
{{- end -}}
{{- if regexMatch "[$][{][a-z_]+[}]" $text }}{{ fail "connectors/source.json has a placeholder that this chart does not fill" }}{{ end -}}
{{- $config := fromJson $text -}}
{{- if $database.tls }}{{ $_ := set $config "database.ssl.mode" $kind.verify }}{{ end -}}
{{- if and $database.tls $trust -}}
{{- $_ := set $config "database.ssl.truststore" "/mnt/database-trust/truststore.p12" -}}
{{- $_ := set $config "database.ssl.truststore.password" (printf "${secrets:%s/%s:password}" $.Release.Namespace $trust) -}}
{{- end -}}
{{- range $setting, $value := include "cdc.kafkasecurity" $ | fromYaml -}}
{{- range list "producer" "consumer" }}{{ $_ := set $config (printf "schema.history.internal.%s.%s" . $setting) $value }}{{ end -}}
{{- end -}}
{{- $_ := set $connectors $connector $config -}}
{{- end -}}
{{- toYaml $connectors -}}
{{- end -}}

{{/* The Secret and the key of a variable, as labkit.secret. */}}
{{- define "cdc.secret" -}}
{{- include "labkit.secret" (dict "root" .root "facts" (include "cdc.facts" .root | fromYaml) "name" .name) -}}
{{- end -}}

{{/* A reference to it that the workers resolve, in their memory alone. */}}
{{- define "cdc.reference" -}}
{{- $at := include "cdc.secret" . | fromYaml -}}
{{- printf "${secrets:%s/%s:%s}" .root.Release.Namespace $at.name $at.key -}}
{{- end -}}

{{/* How a Java client reaches the brokers. */}}
{{- define "cdc.kafkasecurity" -}}
{{- $kafka := .Values.kafka -}}
{{- if $kafka.tls -}}
security.protocol: {{ ternary "SASL_SSL" "SSL" (ne $kafka.user "") }}
{{- with $kafka.caSecret }}
ssl.truststore.type: PEM
ssl.truststore.certificates: ${secrets:{{ $.Release.Namespace }}/{{ . }}:ca.crt}
{{- end }}
{{- with $kafka.clientCertSecret }}
ssl.keystore.type: PEM
ssl.keystore.certificate.chain: ${secrets:{{ $.Release.Namespace }}/{{ . }}:tls.crt}
ssl.keystore.key: ${secrets:{{ $.Release.Namespace }}/{{ . }}:tls.key}
{{- end }}
{{- if $kafka.user }}
{{- $module := ternary "plain.PlainLoginModule" "scram.ScramLoginModule" (eq $kafka.mechanism "PLAIN") }}
sasl.mechanism: {{ $kafka.mechanism }}
sasl.jaas.config: org.apache.kafka.common.security.{{ $module }} required username="{{ $kafka.user }}" password="{{ include "cdc.reference" (dict "root" . "name" "KAFKA_PASSWORD") }}";
{{- end }}
{{- end -}}
{{- end -}}
