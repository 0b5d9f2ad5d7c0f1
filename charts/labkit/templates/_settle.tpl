{{/* labkit.settle makes .Values what this installation says, before anything reads them: global fills in what the chart leaves
at its default, and the engines of a trial (global.trial) win over both. It takes the chart's context, and may run again. */}}
{{- define "labkit.settle" -}}
{{- $global := .Values.global | default dict -}}
{{- include "labkit.strangers" (dict "root" . "global" $global) -}}
{{- range $global.ignored }}{{ $_ := unset $global . }}{{ end -}}
{{- $defaults := .Files.Get "files/values.yaml" | fromYaml -}}
{{- range $key, $said := $global -}}
{{- if hasKey $defaults $key -}}
{{- include "labkit.take" (dict "into" $.Values "key" $key "said" $said "default" (index $defaults $key)) -}}
{{- end -}}
{{- end -}}
{{- with dig "trial" .Chart.Name dict $global }}{{ $_ := mergeOverwrite $.Values (deepCopy .) }}{{ end -}}
{{- end -}}

{{/* What a chart says itself wins: a value that is not its default. Maps are taken key by key. */}}
{{- define "labkit.take" -}}
{{- $own := index .into .key -}}
{{- if and (kindIs "map" .said) (kindIs "map" $own) -}}
{{- range $key, $said := .said -}}
{{- include "labkit.take" (dict "into" $own "key" $key "said" $said "default" (index ($.default | default dict) $key)) -}}
{{- end -}}
{{- else if eq (toJson $own) (toJson .default) -}}
{{- $_ := set .into .key .said -}}
{{- end -}}
{{- end -}}

{{/* What global may say. Keys of a chart around this one are allowed below its name; .Template.BasePath names all of them. */}}
{{- define "labkit.strangers" -}}
{{- $known := include "labkit.globals" . | fromYamlArray -}}
{{- $around := without (splitList "/charts/" (trimSuffix "/templates" .root.Template.BasePath)) .root.Chart.Name "lab" -}}
{{- range $key := without (keys .global | sortAlpha) "trial" -}}
{{- if not (has $key (concat $known $around ($.global.ignored | default list))) -}}
{{- fail (printf "global.%s is read by no chart: correct its name. A chart around this one has its own keys below global.<its name>, or lists them in global.ignored. These are read: %s" $key (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "labkit.globals" -}}
[cache, dashboard, database, environment, ignored, image, imagePullSecrets, labels, logLevel, migration, networkPolicy, nodeSelector,
 podAnnotations, podLabels, podSecurityContext, priorityClassName, prometheusRule, region, searchIndex, serviceMonitor, telemetry, tls, tolerations]
{{- end -}}
