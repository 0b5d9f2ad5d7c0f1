{{/* How a Java client reaches the brokers. What is secret is a reference that the workers resolve, in their memory alone. */}}
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
{{- $at := index .Values.secretKeys "KAFKA_PASSWORD" | default dict }}
{{- $module := ternary "plain.PlainLoginModule" "scram.ScramLoginModule" (eq $kafka.mechanism "PLAIN") }}
sasl.mechanism: {{ $kafka.mechanism }}
sasl.jaas.config: org.apache.kafka.common.security.{{ $module }} required username="{{ $kafka.user }}" password="${secrets:{{ $.Release.Namespace }}/{{ $at.name | default .Values.existingSecret }}:{{ $at.key | default "KAFKA_PASSWORD" }}}";
{{- end }}
{{- end -}}
{{- end -}}
